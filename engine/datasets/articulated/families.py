"""The table of procedural articulated objects: their makers, layouts and whether they are mostly boxes."""

from __future__ import annotations

from collections.abc import Callable

from engine.datasets.articulated import (
    animals,
    creatures,
    devices,
    furniture,
    machines,
    storage,
    tools,
    toys,
    vehicles,
    vessels,
    wearables,
)
from engine.datasets.articulated.assembly import Assembly, Family, Layout
from engine.datasets.shapes.primitives import Rng


def _table(layout: Layout, makers: tuple[Callable[[Rng], Assembly], ...], *, boxy: bool = False) -> dict[str, Family]:
    return {make.__name__: Family(make, layout, boxy) for make in makers}


FAMILIES: dict[str, Family] = {
    **_table(Layout.SINGLE, (storage.lid_box, wearables.clamshell, devices.rotor), boxy=True),
    **_table(
        Layout.SINGLE,
        (
            vessels.hinged_pot,
            vessels.mug_with_lid,
            vessels.teapot,
            vessels.swing_top_bottle,
            vessels.watering_can,
            tools.scissors,
            tools.pliers,
            tools.tongs,
            tools.clothes_peg,
            tools.nutcracker,
            tools.carabiner,
            toys.seesaw,
        ),
    ),
    **_table(
        Layout.PARALLEL,
        (
            storage.drawers,
            storage.cupboard,
            storage.toolbox,
            storage.fridge,
            storage.microwave,
            storage.oven,
            furniture.window,
            toys.piano,
            devices.lever,
        ),
        boxy=True,
    ),
    **_table(
        Layout.PARALLEL,
        (
            vessels.pedal_bin,
            vessels.valve_wheel,
            storage.washing_machine,
            furniture.toilet,
            furniture.porch_swing,
            furniture.folding_chair,
            tools.adjustable_spanner,
            tools.pocket_knife,
            devices.switch_panel,
            vehicles.toy_car,
            vehicles.shuttle,
            wearables.glasses,
            wearables.padlock,
        ),
    ),
    **_table(Layout.CHAIN, (furniture.door, wearables.book), boxy=True),
    **_table(
        Layout.CHAIN,
        (
            furniture.office_chair,
            tools.clamp,
            tools.stapler,
            devices.lamp,
            devices.angle_lamp,
            devices.desk_fan,
            machines.excavator,
            machines.crane,
            machines.crank,
            wearables.bracelet,
            animals.chain,
            animals.iron_chain,
            animals.snake,
            animals.caterpillar,
        ),
    ),
    **_table(
        Layout.TREE,
        (
            vessels.tap,
            devices.joystick,
            vehicles.bicycle,
            vehicles.train,
            toys.carousel,
            toys.balance,
            toys.jumping_jack,
            wearables.watch,
            wearables.headphones,
            creatures.creature,
            creatures.quadruped,
            creatures.doll,
            creatures.insect,
            creatures.spider,
            creatures.crab,
            creatures.scorpion,
            animals.fish,
            animals.bird,
            animals.turtle,
            animals.octopus,
        ),
    ),
    **_table(Layout.GRIPPER, (creatures.gripper,), boxy=True),
    **_table(Layout.GRIPPER, (creatures.hand, creatures.grab, machines.robot_arm)),
}
