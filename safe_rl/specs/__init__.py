"""Specifications: what is monitored, its trigger, its recovery, its limit, and where it is read.

>>> from safe_rl.specs import load_specs
>>> specs = load_specs("safemanip")
>>> grasp = specs.select(["grasp_remains_synced_until_dropped"]).bind({"graspable": ["mug_1"]})
>>> grasp.instances[0].says
'Once grasped, mug_1 must not slip in the gripper until it is let go.'
"""

from safe_rl.specs.binding import Binding
from safe_rl.specs.loading import Specs, library_names, library_text, load_specs
from safe_rl.specs.maniguard import from_maniguard, read_maniguard
from safe_rl.specs.patterns import declare, declare_names, pattern, pattern_names
from safe_rl.specs.phrases import Phrase, Phrases, plain_phrase
from safe_rl.specs.propositions import PropositionInfo
from safe_rl.specs.spec_set import Objects, SpecSet
from safe_rl.specs.specification import Instance, Limit, Specification, default_trigger
from safe_rl.specs.yaml_reader import parse_yaml, read_yaml

__all__ = [
    "Binding",
    "Instance",
    "Limit",
    "Objects",
    "Phrase",
    "Phrases",
    "PropositionInfo",
    "SpecSet",
    "Specification",
    "Specs",
    "declare",
    "declare_names",
    "default_trigger",
    "from_maniguard",
    "library_names",
    "library_text",
    "load_specs",
    "parse_yaml",
    "pattern",
    "pattern_names",
    "plain_phrase",
    "read_maniguard",
    "read_yaml",
]
