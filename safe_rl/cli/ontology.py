"""``safe-rl ontology show|list|properties|relations|check``: what things are, on screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safe_rl.cli.messages import clear_errors

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from safe_rl.grounding.ontology import Entity, Ontology

ontology_app = typer.Typer(
    no_args_is_help=True, help="Look up what objects are, and what may be done with them."
)

_Files = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", help="A YAML file of your own on top; repeatable."),
]


@ontology_app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(help="An entity, an object's name, or a property.")],
    files: _Files = None,
) -> None:
    """Show where a thing stands in the four trees, and which rules add to that."""
    from safe_rl.errors import OntologyError, near

    with clear_errors():
        ontology = _load(files)
        entity = ontology.find(name)
        known = [*ontology.entities, *ontology.properties]
        if entity is None and name not in ontology.trees:
            raise OntologyError(
                f"there is no entity and no property {name!r}{near(name, known)}; "
                "safe-rl ontology list names the entities, safe-rl ontology properties the others"
            )
        console = _console()
        if entity is not None:
            console.print(_entity_tree(ontology, ontology.entity(entity)))
        if name in ontology.trees:
            _print_property(console, ontology, name)


@ontology_app.command("list")
def list_command(
    prop: Annotated[
        str,
        typer.Option(
            "--property", "-p", help='A property, or several as in "fragile & !heavy"; say why.'
        ),
    ] = "",
    files: _Files = None,
) -> None:
    """List the entities, all or those with a property."""
    from rich.table import Table
    from rich.text import Text

    with clear_errors():
        ontology = _load(files)
        names = ontology.with_property(prop) if prop else ontology.entities
        single = prop if prop in ontology.trees else ""
        table = Table(box=None, pad_edge=False)
        table.add_column("entity", no_wrap=True)
        table.add_column("why" if single else "attached to", overflow="fold")
        for name in names:
            entity = ontology.entity(name)
            nodes = [node for tree in entity.attached.values() for node in tree]
            words = str(entity.reasons[single]) if single else ", ".join(nodes)
            table.add_row(name, Text(words))
        console = _console()
        if names:
            console.print(table)
        console.print(_count(len(names), "entity"), style="dim", highlight=False)


@ontology_app.command("properties")
def properties_command(files: _Files = None) -> None:
    """Show the four trees with what their nodes mean and how many entities have them."""
    from rich.text import Text
    from rich.tree import Tree

    with clear_errors():
        ontology = _load(files)
        count = dict.fromkeys(ontology.properties, 0)
        for name in ontology.entities:
            for prop in ontology.entity(name).reasons:
                count[prop] += 1

        def grow(branch: Tree, node: str) -> None:
            for child in ontology.trees.children(node):
                label = Text(child).append(f"  {count[child]}", style="dim")
                says = ontology.trees[child].says
                grow(branch.add(label.append(f"  {says}" if says else "")), child)

        for root in _roots():
            tree = Tree(Text(root, style="bold"))
            grow(tree, root)
            _console().print(tree)


@ontology_app.command("relations")
def relations_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Objects of a scene; show the pairs among them.")
    ] = None,
    files: _Files = None,
) -> None:
    """Show the relational rules, or to which pairs of objects they apply."""
    from rich.table import Table
    from rich.text import Text

    with clear_errors():
        ontology = _load(files)
        table = Table(box=None, pad_edge=False)
        table.add_column("rule", no_wrap=True)
        if not names:
            table.add_column("for all", overflow="fold")
            table.add_column("formula", no_wrap=True)
            for rule in ontology.relations:
                kinds = "; ".join(f"{name}: {kind}" for name, kind in rule.forall.items())
                table.add_row(rule.id, Text(kinds), Text(str(rule.formula)))
            _console().print(table)
            return
        table.add_column("says", overflow="fold")
        bound = ontology.bind(ontology.relations, names)
        for instance in bound.instances:
            table.add_row(instance.specification.id, Text(instance.says))
        if bound.instances:
            _console().print(table)
        else:
            _console().print("no relational rule applies to two of these")


@ontology_app.command("check")
def check_command(
    file: Annotated[Path, typer.Argument(help="A YAML file of entities, nodes or rules.")],
) -> None:
    """Check a file of your own, and show what follows for its entities."""
    from safe_rl.grounding.ontology.loading import read_file

    with clear_errors():
        document = read_file(file)
        ontology = _load([file])
        console = _console()
        counts = (
            _count(len(document.entities), "entity"),
            _count(len(document.nodes), "node"),
            _count(len(document.rules), "rule"),
        )
        typer.echo(f"{file}: {', '.join(counts)}; no mistakes")
        for entry in document.entities:
            console.print(_entity_tree(ontology, ontology.entity(entry.name)))
            for node in ontology.needless(entry.name):
                typer.echo(f"note: {entry.place}: a rule gives {node!r} to {entry.name!r} anyway")


def _load(files: list[Path] | None) -> Ontology:
    from safe_rl.grounding.ontology import Ontology

    return Ontology.load(*(files or []))


def _roots() -> tuple[str, ...]:
    from safe_rl.grounding.ontology import ROOTS

    return ROOTS


def _console() -> Console:
    from safe_rl.cli.showing import wide_console

    return wide_console()


def _count(number: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def _entity_tree(ontology: Ontology, entity: Entity) -> Tree:
    """Draw the paths of an entity; what a rule added carries the rule's name."""
    from rich.text import Text
    from rich.tree import Tree

    title = Text(entity.name, style="bold")
    if entity.aliases:
        title.append(f"  also {', '.join(entity.aliases)}", style="not bold dim")
    if entity.says:
        title.append(f"  {entity.says}", style="not bold")
    drawing = Tree(title)

    def grow(branch: Tree, node: str) -> None:
        for child in ontology.trees.children(node):
            why = entity.reasons.get(child)
            if why is None:
                continue
            attached = why.rule is None and len(why.path) == 1
            label = Text(child, style="bold" if attached else "")
            if why.rule is not None and len(why.path) == 1:
                label.append(f"  rule {why.rule.name}: {why.rule.condition}", style="not bold dim")
            grow(branch.add(label), child)

    for root in _roots():
        branch = Tree(Text(root, style="bold"))
        grow(branch, root)
        if branch.children:
            drawing.children.append(branch)
    return drawing


def _print_property(console: Console, ontology: Ontology, name: str) -> None:
    from rich.table import Table
    from rich.text import Text

    node = ontology.trees[name]
    rules = [
        rule.name
        for rule in ontology.rules
        if any(name in ontology.trees.upward(given) for given in rule.then)
    ]
    below = ontology.trees.children(name)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", min_width=8, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("property", Text(" > ".join([*ontology.trees.upward(name), node.tree])))
    if node.says:
        grid.add_row("means", Text(node.says))
    if below:
        grid.add_row("below", Text(", ".join(below)))
    if rules:
        grid.add_row("rules", Text(", ".join(rules)))
    grid.add_row("entities", Text(", ".join(ontology.with_property(name)) or "none"))
    console.print(grid)
