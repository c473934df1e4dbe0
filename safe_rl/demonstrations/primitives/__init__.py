"""Access to a scene, the controller, the planner, grasps and the recorder."""
