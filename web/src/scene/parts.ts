import {
  type BufferGeometry,
  type Color,
  DynamicDrawUsage,
  InstancedMesh,
  type Material,
  Matrix4,
  type Mesh,
  type MeshBasicMaterial,
  Quaternion,
  Vector3,
} from "three";
import { at } from "../at";
import type { Vector } from "../vector";
import type { Bar } from "./shape";

const UP = new Vector3(0, 1, 0);
const HIDDEN = new Matrix4().makeScale(0, 0, 0);

/** One of many equal things: the body it is fixed to, the link it stands for, where it lies in the body's frame. */
export interface Part {
  readonly body: number;
  /** -1 for none */
  readonly link: number;
  readonly local: Matrix4;
}

/** Many equal things, each fixed to a body, drawn at once. */
export class Parts {
  readonly mesh: InstancedMesh;
  private readonly product = new Matrix4();

  constructor(
    geometry: BufferGeometry,
    material: Material,
    readonly parts: readonly Part[],
  ) {
    this.mesh = new InstancedMesh(geometry, material, Math.max(1, parts.length));
    this.mesh.count = parts.length;
    this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    this.mesh.frustumCulled = false; // bodies move every frame, and the few draws are not worth the boxes
  }

  /** Puts every part where its body is; `shows` says which bodies, `holds` of which links parts are to be seen. */
  place(poses: readonly Matrix4[], shows: Uint8Array, holds?: (link: number) => boolean): void {
    this.parts.forEach(({ body, link, local }, i) => {
      const visible = shows[body] && (holds === undefined || holds(link));
      this.mesh.setMatrixAt(i, visible ? this.product.multiplyMatrices(at(poses, body), local) : HIDDEN);
    });
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  paint(colour: (part: Part) => Color): void {
    this.parts.forEach((part, i) => this.mesh.setColorAt(i, colour(part)));
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }

  /** The same things once more, lying flat: what they cast on the floor. */
  shadow(material: MeshBasicMaterial): Mesh {
    const mesh = new InstancedMesh(this.mesh.geometry, material, Math.max(1, this.parts.length));
    mesh.instanceMatrix = this.mesh.instanceMatrix;
    mesh.count = this.parts.length;
    mesh.frustumCulled = false;
    return mesh;
  }
}

/** A cylinder of height 1 along y, stretched from a to b with this radius. */
export function along(a: Vector, b: Vector, radius: number, out = new Matrix4()): Matrix4 {
  const from = new Vector3(...a);
  const way = new Vector3(...b).sub(from);
  const length = way.length();
  const turn = new Quaternion().setFromUnitVectors(UP, length > 0 ? way.clone().divideScalar(length) : UP);
  return out.compose(from.addScaledVector(way, 0.5), turn, new Vector3(radius, Math.max(length, 1e-9), radius));
}

/** Something of size 1 drawn at this size with its middle at p. */
export function sized(p: Vector, size: number): Matrix4 {
  return new Matrix4().makeScale(size, size, size).setPosition(...p);
}

/** The rotation of a rotation vector [rad]. */
export function turnedBy(turn: Vector): Matrix4 {
  const way = new Vector3(...turn);
  const angle = way.length();
  return angle > 0 ? new Matrix4().makeRotationAxis(way.divideScalar(angle), angle) : new Matrix4();
}

export function bars(geometry: BufferGeometry, material: Material, list: readonly Bar[], radius: number): Parts {
  const parts = list.map(({ body, link, a, b, thin }) => ({
    body,
    link,
    local: along(a, b, thin ? radius * 0.5 : radius),
  }));
  return new Parts(geometry, material, parts);
}
