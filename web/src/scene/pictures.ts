import type { View } from "../store";
import type { Rig } from "./rig";

/** One picture of the figure: a copy of it, with the other one shining through where both are drawn. */
export interface Picture {
  readonly name: string;
  /** the copy that casts the shadow and carries the names */
  readonly front: Rig;
  readonly rigs: readonly Rig[];
}

/** What is drawn in a view, from left to right. */
export function picturesOf(view: View, played: Rig, measured: Rig): Picture[] {
  const alone = (name: string, rig: Rig): Picture => ({ name, front: rig, rigs: [rig] });
  if (view === "side") return [alone("measured", measured), alone("played", played)];
  if (view === "ghost") return [{ name: "played, measured as ghost", front: played, rigs: [played, measured] }];
  return [alone(view, view === "measured" ? measured : played)];
}

/** What stands under each picture. */
export function captionsOf(pictures: readonly Picture[], enlarged: number): string[] {
  const larger = enlarged === 1 ? "" : `, departure × ${enlarged}`;
  return pictures.map(({ name }) => (name.includes("measured") ? name + larger : name));
}
