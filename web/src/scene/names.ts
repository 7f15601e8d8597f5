import { Vector3 } from "three";
import { short } from "../format";
import type { Model } from "../model";
import type { State } from "../store";
import type { Label } from "./labels";
import type { Rig } from "./rig";
import { extentOf } from "./upright";

/** Names to be shown over one copy of the figure: of what is selected or pointed at, and of all where asked. */
export function namesOf(rig: Rig, model: Model, state: State, hovered: number | null): Label[] {
  const labels: Label[] = [];
  const add = (key: number, text: string, source: Float32Array, at: number, strong: boolean): void => {
    labels.push({ key, text: short(text, 28), point: new Vector3().fromArray(source, at), strong });
  };
  const name = (body: number, strong: boolean): void => {
    if (!rig.poses.shows[body]) return;
    const isSelected = strong && body === state.body && state.link !== null && model.link(state.link).child === body;
    const link = isSelected ? state.link : model.ownJoint(body);
    if (link !== null) add(body, model.linkName(link), rig.sides, link * 6, strong);
    else add(body, model.name(body), rig.poses.p, body * 3, strong);
  };
  const strong = [...new Set([state.body, hovered].filter((body) => body !== null))];
  for (const body of strong) name(body, true);
  if (state.labels) model.bodies.forEach((_, body) => strong.includes(body) || name(body, false));
  return labels;
}

/** The level direction along which several figures stand apart, null for one; the first copy that shows a body counts. */
export function standApart(model: Model, rigs: readonly Rig[], up: Vector3): Vector3 | null {
  const sums = new Map<number, { p: Vector3; n: number }>();
  model.bodies.forEach(({ figure }, body) => {
    const rig = rigs.find((copy) => copy.poses.shows[body]);
    if (figure < 0 || rig === undefined) return;
    const sum = sums.get(figure) ?? { p: new Vector3(), n: 0 };
    sum.p.add(new Vector3().fromArray(rig.poses.p, body * 3));
    sum.n++;
    sums.set(figure, sum);
  });
  if (sums.size < 2) return null;
  return extentOf(
    [...sums.values()].flatMap(({ p, n }) => p.divideScalar(n).toArray()),
    up,
  ).wide;
}
