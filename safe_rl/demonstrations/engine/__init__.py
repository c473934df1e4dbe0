"""Plans, executes, gates and records what a skeleton says, whatever the family."""
