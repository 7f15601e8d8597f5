import {
  ConeGeometry,
  CylinderGeometry,
  Group,
  type Matrix4,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  TorusGeometry,
  Vector3,
} from "three";
import type { Model } from "../model";
import type { Vector } from "../vector";
import type { Colours } from "./colours";

const UP = new Vector3(0, 1, 0);
const FORWARD = new Vector3(0, 0, 1);
/** [rad] of the ring that is drawn, and by how far the limb swings to each side */
const RING_RAD = 1.6 * Math.PI;
const SWING_RAD = 0.6;
const SWING_S = 1.8;

/** A movement to be made: a body, and the direction in its frame about which its joint is to be turned. */
export interface Movement {
  readonly body: number;
  readonly about: Vector;
}

/** A movement shown on the figure: a ring about the axis, an arrow on it, and the limb that swings. */
export class Gesture {
  readonly group = new Group();
  private readonly material = new MeshBasicMaterial({ transparent: true, opacity: 0.75, depthTest: false });
  private readonly pale = new MeshBasicMaterial({ transparent: true, opacity: 0.35, depthTest: false });
  private readonly swing = new Group();
  private readonly geometries: { dispose(): void }[] = [];
  private readonly body: number;

  constructor(model: Model, size: number, { body, about }: Movement) {
    this.body = body;
    const joint = model.data.joints.find(({ child }) => child === body);
    const place = new Vector3(...(joint?.p_child_joint ?? [0, 0, 0]));
    const axis = new Vector3(...about).normalize();
    const limb = limbOf(model, body, place);
    const along = axis.clone().multiplyScalar(limb.dot(axis));
    const twist = limb.length() > 0 && along.length() > 0.8 * limb.length();
    const frame = new Group();
    frame.position.copy(place).addScaledVector(limb, twist ? 0.5 : 0);
    frame.quaternion.copy(new Quaternion().setFromUnitVectors(FORWARD, axis));
    const radius = twist ? 0.55 * size : Math.max(0.6 * limb.length(), 0.5 * size);
    const ring = this.mesh(new TorusGeometry(radius, 0.025 * size, 8, 48, RING_RAD), this.pale);
    const head = this.mesh(new ConeGeometry(0.09 * size, 0.26 * size, 16), this.material);
    head.position.set(radius, 0, 0);
    this.swing.add(head);
    if (!twist && limb.length() > 0) {
      const bar = this.mesh(new CylinderGeometry(0.05 * size, 0.05 * size, limb.length(), 12), this.pale);
      const inside = limb.clone().applyQuaternion(frame.quaternion.clone().invert());
      bar.quaternion.setFromUnitVectors(UP, inside.clone().normalize());
      bar.position.copy(inside).multiplyScalar(0.5);
      const arm = new Group();
      arm.add(bar);
      this.swing.add(arm);
    }
    frame.add(ring, this.swing);
    this.group.add(frame);
    this.group.renderOrder = 3;
    this.group.matrixAutoUpdate = false;
  }

  /** Puts it where its body is at a time [s]. */
  update(poses: readonly Matrix4[], shows: Uint8Array, seconds: number): void {
    const pose = poses[this.body];
    this.group.visible = pose !== undefined && shows[this.body] === 1;
    if (pose === undefined) return;
    this.group.matrix.copy(pose);
    this.group.matrixWorldNeedsUpdate = true;
    const way = Math.cos((2 * Math.PI * seconds) / SWING_S);
    this.swing.rotation.z = SWING_RAD * Math.sin((2 * Math.PI * seconds) / SWING_S);
    const head = this.swing.children[0];
    if (head) head.rotation.z = way < 0 ? Math.PI : 0;
  }

  paint(colours: Colours): void {
    this.material.color.copy(colours.selected);
    this.pale.color.copy(colours.selected);
  }

  dispose(): void {
    for (const one of [...this.geometries, this.material, this.pale]) one.dispose();
  }

  private mesh(geometry: TorusGeometry | ConeGeometry | CylinderGeometry, material: MeshBasicMaterial): Mesh {
    this.geometries.push(geometry);
    return new Mesh(geometry, material);
  }
}

/** From a body's joint to where it ends: its further joints, or its sensor where it has none. */
function limbOf(model: Model, body: number, place: Vector3): Vector3 {
  const ends = model.data.joints.filter(({ parent }) => parent === body).map((one) => one.p_parent_joint);
  if (ends.length === 0) return place.clone().negate();
  const sum = ends.reduce((total, end) => total.add(new Vector3(...end)), new Vector3());
  return sum.divideScalar(ends.length).sub(place);
}
