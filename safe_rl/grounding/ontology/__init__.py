"""What things are, how they are dangerous, what can be done with them, and their part in a scene.

Four hypernym trees (kind, hazard, affordance, role), entities attached to their most specific
nodes, and commonsense rules on top, after ManipVerse (SafeManip, arXiv:2605.12386, section 3.2).
Every node is a property; rules of safety quantify over properties, and the ontology says which of
a scene's objects carry them.
"""

from safe_rl.grounding.ontology.ontology import Entity, Ontology
from safe_rl.grounding.ontology.rules import Reason, Rule
from safe_rl.grounding.ontology.trees import ROOTS, Node, Trees

__all__ = ["ROOTS", "Entity", "Node", "Ontology", "Reason", "Rule", "Trees"]
