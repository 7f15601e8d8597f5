import { type PerspectiveCamera, Vector3 } from "three";
import type { Model } from "../model";
import type { Rig } from "./rig";

/** What lies under the pointer: a joint before a body, since joints are small. */
export interface Picked {
  readonly body: number | null;
  readonly link: number | null;
}

/** How near the pointer must come [px]. */
const NEAR = 16;

export function pick(
  rigs: readonly Rig[],
  model: Model,
  camera: PerspectiveCamera,
  x: number,
  y: number,
  width: number,
  height: number,
): Picked | null {
  const a = new Vector3();
  const b = new Vector3();
  const local = [0, 0, 0];
  const project = (v: Vector3): Vector3 => {
    v.project(camera);
    return v.set(((v.x + 1) / 2) * width, ((1 - v.y) / 2) * height, v.z);
  };
  let best: Picked | null = null;
  let least = NEAR;
  const offer = (distance: number, picked: Picked): void => {
    if (distance >= least) return;
    least = distance;
    best = picked;
  };
  for (const rig of rigs) {
    const { shows } = rig.poses;
    model.links.forEach((joint, link) => {
      if (!shows[joint.child]) return;
      project(a.fromArray(rig.sides, link * 6));
      if (a.z < 1) offer(Math.hypot(a.x - x, a.y - y) * 0.7, { body: joint.child, link });
    });
    model.bodies.forEach((body, i) => {
      if (!shows[i] || body.world) return;
      project(a.fromArray(rig.poses.p, i * 3));
      if (a.z < 1) offer(Math.hypot(a.x - x, a.y - y) * 0.8, { body: i, link: null });
    });
    for (const bar of rig.shape.limbs) {
      if (!shows[bar.body]) continue;
      rig.poses.point(bar.body, bar.a, local);
      project(a.fromArray(local));
      rig.poses.point(bar.body, bar.b, local);
      project(b.fromArray(local));
      if (a.z < 1 && b.z < 1) offer(toSegment(x, y, a, b) + 2, { body: bar.body, link: null });
    }
  }
  return best;
}

function toSegment(x: number, y: number, a: Vector3, b: Vector3): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const square = dx * dx + dy * dy;
  const t = square > 0 ? Math.min(1, Math.max(0, ((x - a.x) * dx + (y - a.y) * dy) / square)) : 0;
  return Math.hypot(a.x + t * dx - x, a.y + t * dy - y);
}
