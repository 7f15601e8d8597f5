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
import type { Bar, Vector } from "./shape";

const UP = new Vector3(0, 1, 0);
const HIDDEN = new Matrix4().makeScale(0, 0, 0);

/** Many equal things, each fixed to a body, drawn at once. */
export class Parts {
  readonly mesh: InstancedMesh;
  private readonly product = new Matrix4();

  constructor(
    geometry: BufferGeometry,
    material: Material,
    readonly bodies: readonly number[],
    private readonly local: readonly Matrix4[],
  ) {
    this.mesh = new InstancedMesh(geometry, material, Math.max(1, bodies.length));
    this.mesh.count = bodies.length;
    this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    this.mesh.frustumCulled = false; // bodies move every frame, and the few draws are not worth the boxes
  }

  /** Puts every part where its body is; `shows` says which bodies, `also` which parts are to be seen. */
  place(poses: readonly Matrix4[], shows: Uint8Array, also?: (part: number) => boolean): void {
    this.bodies.forEach((body, i) => {
      const visible = shows[body] && (also === undefined || also(i));
      this.mesh.setMatrixAt(i, visible ? this.product.multiplyMatrices(poses[body], this.local[i]) : HIDDEN);
    });
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  paint(colour: (part: number) => Color): void {
    this.bodies.forEach((_, i) => this.mesh.setColorAt(i, colour(i)));
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }

  /** The same things once more, lying flat: what they cast on the floor. */
  shadow(material: MeshBasicMaterial): Mesh {
    const mesh = new InstancedMesh(this.mesh.geometry, material, Math.max(1, this.bodies.length));
    mesh.instanceMatrix = this.mesh.instanceMatrix;
    mesh.count = this.bodies.length;
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

export function at(p: Vector, size: number): Matrix4 {
  return new Matrix4().makeScale(size, size, size).setPosition(p[0], p[1], p[2]);
}

export function bars(geometry: BufferGeometry, material: Material, list: readonly Bar[], radius: number): Parts {
  return new Parts(
    geometry,
    material,
    list.map((bar) => bar.body),
    list.map((bar) => along(bar.a, bar.b, bar.thin ? radius * 0.5 : radius)),
  );
}
