"""Stage 1: turn a mesh or a recipe into modal data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from flexmbs.cli.output import Output, Progress, add_overwrite, add_root

OPTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "--material",
        "steel|aluminium|titanium|FILE",
        "steel (default), aluminium, titanium, or a TOML file with young, poisson, density",
    ),
    ("--young", "E", "Young's modulus [Pa]"),
    ("--poisson", "NU", "Poisson's ratio"),
    ("--density", "RHO", "density [kg/m^3]"),
    ("--method", "craig-bampton|free-interface|given", "craig-bampton (default), free-interface, given"),
    ("--modes", "N", "number of fixed-interface or free modes; static modes come on top"),
    ("--fmax", "HZ", "all modes up to this frequency; with --tol or --modes the band of the error"),
    ("--tol", "X", "fewest modes whose measured error up to --fmax is below X"),
    ("--frame", "mean-axis|tangent:NAME", "mean-axis (default) or tangent:INTERFACE"),
    ("--mass", "consistent|lumped|M", "consistent (default) or lumped; with --stiffness the mass matrix"),
    ("--stress", "nodes|cells|none", "nodes (default), cells, none"),
    (
        "--supports",
        "drop|interfaces|fix",
        "supports of a deck: drop (default, the body is free), interfaces, fix",
    ),
    ("--merge-tol", "LENGTH", "merge nodes closer than this"),
    ("--solver", "auto|superlu|cholmod|pardiso", "auto (default), superlu, cholmod, pardiso"),
    (
        "--unit-system",
        "m|mm|UNITS",
        "of mesh and matrices: m or m-kg-s (default), mm or mm-t-s, mm-kg-ms, mm-kg-s, mm-g-ms, m-t-s, "
        "cm-g-s, um-kg-s, in-lbf-s, ft-lbf-s; decks with materials tell theirs",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="MESH|RECIPE.toml", nargs="?", help="mesh file or recipe")
    parser.add_argument("-o", "--output", metavar="X.modal.h5", help="default: beside the source")
    parser.add_argument(
        "--interface",
        metavar="NAME[:TIE][:KEY=VALUE]",
        action="append",
        help="set tied to a marker by rbe2 (default) or rbe3, with keys as in a recipe, "
        "bore:rbe3:pos=0.1,0,0; repeatable",
    )
    for name, metavar, text in OPTIONS:
        parser.add_argument(name, metavar=metavar, help=text)
    parser.add_argument(
        "--ignore", metavar="CARD", action="append", help="leave out these cards of a deck; repeatable"
    )
    parser.add_argument(
        "--no-geometric-stiffness", action="store_true", help="leave out the stiffening by loads"
    )
    parser.add_argument(
        "--stiffness", metavar="K", help="matrices in place of a mesh, with --mass M and --nodes NODES"
    )
    parser.add_argument("--nodes", metavar="NODES", help="of matrices: table of nodes, or their deck")
    parser.add_argument(
        "--from-matrices",
        nargs=3,
        metavar=("K", "M", "NODES"),
        help="the same in one option: Matrix Market, .sti/.mas, .mtx, DMIG, OP4, HBMAT",
    )
    parser.add_argument(
        "--save-matrices", nargs=2, metavar=("K", "M"), help="write the full matrices (Matrix Market)"
    )
    parser.add_argument(
        "--write-recipe",
        metavar="X.reduce.toml",
        help="write the recipe that stands for this command, and end",
    )
    parser.add_argument(
        "--pieces",
        metavar="auto|always|direct",
        default="auto",
        help="factor on disk, in pieces: auto (default: where it does not fit into memory), always, direct",
    )
    parser.add_argument("--memory", metavar="SIZE", help="most memory to take, as 8GB; default: what is free")
    parser.add_argument(
        "--scratch", metavar="DIR", help="folder for a factor on disk; default: that of the output"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        default="",
        help="workers of a Dask scheduler for the pieces, tls://head:8786",
    )
    parser.add_argument(
        "--open-cluster", action="store_true", help="the scheduler may be one without encryption"
    )
    add_overwrite(parser)
    add_root(parser)


def limits_of(args: argparse.Namespace, target: Path, said: list[str]) -> Any:
    """What this machine has for the reduction; `said` gets what is decided, and so does the terminal."""
    from flexmbs.fe.pieces.route import Limits, bytes_of

    def say(text: str) -> None:
        said.append(text)
        if not args.quiet:
            print(text, file=sys.stderr, flush=True)

    memory = bytes_of(args.memory) if args.memory else None
    scratch = Path(args.scratch) if args.scratch else target.absolute().parent
    return Limits(args.pieces, memory, scratch, say, args.cluster, args.open_cluster)


def given_matrices(args: argparse.Namespace) -> list[str] | None:
    """Files of stiffness, mass and nodes, by one option or by three."""
    from flexmbs.errors import Diagnostic, UsageError

    if not (args.stiffness or args.nodes):
        return args.from_matrices
    if not (args.stiffness and args.nodes and args.mass) or args.mass in ("consistent", "lumped"):
        what = "matrices need --stiffness K, --mass M and --nodes NODES"
        raise UsageError(Diagnostic("usage.matrices", "reduce", what, "give all three files"))
    return [args.stiffness, args.mass, args.nodes]


def run(args: argparse.Namespace) -> Output:
    from flexmbs.certificate.summary import modal_data, modal_text
    from flexmbs.reduce.command import output_path, reduce_files, write_recipe

    options: dict[str, Any] = {name[2:].replace("-", "_"): None for name, _, _ in OPTIONS}
    options = {name: getattr(args, name) for name in options}
    options["interfaces"] = args.interface
    options["ignore"] = args.ignore
    options["geometric_stiffness"] = False if args.no_geometric_stiffness else None
    matrices = given_matrices(args)
    if args.stiffness:
        options["mass"] = None
    options["matrices"] = matrices
    if args.write_recipe:
        written = write_recipe(args.source, options, Path(args.write_recipe), overwrite=args.overwrite)
        return Output(f"written      {written}", {"file": str(written)})
    target = output_path(args.source, args.output, matrices, overwrite=args.overwrite)
    progress, said = Progress("reduce", quiet=args.quiet), list[str]()
    modal = reduce_files(
        args.source, options, target, args.save_matrices, progress,
        overwrite=args.overwrite, root=args.root, limits=limits_of(args, target, said),
    )  # fmt: skip
    text, data = f"{modal_text(modal)}\nwritten      {target}", {"file": str(target), **modal_data(modal)}
    if said:
        data["route"] = said[-1]
    return Output(text, data, next=f"flexmbs animate {target}")
