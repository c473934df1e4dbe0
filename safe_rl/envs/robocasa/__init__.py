"""RoboCasa's kitchens as Gymnasium environments that bring their own propositions."""

from safe_rl.envs.robocasa.env import RoboCasaEnv

__all__ = ["RoboCasaEnv"]
