import {
  BoxGeometry,
  type Color,
  CylinderGeometry,
  Group,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  MeshStandardMaterial,
  SphereGeometry,
} from "three";
import { at } from "../at";
import type { Model } from "../model";
import type { Poses } from "../motion/unpack";
import { vectorAt, ZERO } from "../vector";
import { BodyPoses, type Role } from "./body_poses";
import type { Colours } from "./colours";
import { along, bars, type Part, Parts, sized, turnedBy } from "./parts";
import { BALL, type Shape } from "./shape";

/** What colours say in this frame. */
export interface Paint {
  readonly colours: Colours;
  /** whether measured and played are both drawn, so that they must be told apart */
  readonly departs: boolean;
  readonly selectedBody: number | null;
  readonly selectedLink: number | null;
  /** colour of a link by its residual or its gap */
  link(link: number): Color;
  body(body: number): Color;
  /** whether a link holds at this moment */
  holds(link: number): boolean;
  /** whether a sensor sits where a slip took it at this moment */
  slipped(slip: number): boolean;
}

const box = new BoxGeometry(1, 1, 1);
const ball = new SphereGeometry(1, 28, 20);
const rod = new CylinderGeometry(1, 1, 1, 20, 1);
const stick = new CylinderGeometry(1, 1, 1, 10, 1);

/** One copy of all figures in the room, as measured or as played. */
export class Rig {
  readonly group = new Group();
  readonly shadows = new Group();
  readonly poses: BodyPoses;
  /** world places of each link's two sides: child's, then parent's */
  readonly sides: Float32Array;
  private readonly solid: MeshStandardMaterial;
  private readonly joints: MeshStandardMaterial;
  private readonly cubes: Parts;
  private readonly limbs: Parts;
  private readonly stalks: Parts;
  private readonly axes: Parts;
  private readonly dashes: Parts;
  private readonly childBalls: Parts;
  private readonly parentBalls: Parts | null;
  private readonly halos: Parts;
  private readonly slips: Parts;
  private readonly slipped: Parts;
  private readonly gaps: InstancedMesh | null;
  private readonly matrix = new Matrix4();

  constructor(
    private readonly model: Model,
    readonly shape: Shape,
    readonly role: Role,
    shade: MeshBasicMaterial,
  ) {
    const { size } = shape;
    const measured = role === "measured";
    this.poses = new BodyPoses(model.bodies.length, role);
    this.sides = new Float32Array(model.links.length * 6);
    this.solid = new MeshStandardMaterial({ roughness: 0.75, metalness: 0 });
    this.joints = new MeshStandardMaterial({ roughness: 0.45, metalness: 0 });
    const halo = new MeshBasicMaterial({ transparent: true, opacity: 0.2, depthWrite: false });
    const cubes = model.bodies.flatMap((body, b) => {
      const side = size * (model.jointsAt(b).length ? 0.2 : 0.34);
      return body.world ? [] : [{ body: b, link: -1, local: sized(ZERO, side) }];
    });
    this.cubes = new Parts(box, this.solid, cubes);
    this.limbs = bars(rod, this.solid, shape.limbs, size * 0.062);
    this.stalks = bars(stick, this.solid, shape.stalks, size * 0.02);
    this.axes = bars(stick, this.solid, shape.axes, size * 0.018);
    this.dashes = bars(stick, this.solid, shape.dashes, size * 0.028);
    const bright = new MeshBasicMaterial({ transparent: true, depthTest: false }); // over all
    const away = model.data.slips.map(({ body, shift, turn }, link) => ({
      body,
      link,
      local: sized(shift, size * 0.16).multiply(turnedBy(turn)),
    }));
    this.slips = bars(stick, bright, shape.slips, size * 0.03);
    this.slipped = new Parts(box, bright, away);
    const radius = size * (measured ? 0.1 : BALL);
    const ends = model.links.map(({ child, p_child_joint }, link) => ({ body: child, link, p: p_child_joint }));
    const others = model.links.map(({ parent, p_parent_joint }, link) => ({ body: parent, link, p: p_parent_joint }));
    const balls = (list: typeof ends): Parts =>
      new Parts(
        ball,
        this.joints,
        list.map(({ body, link, p }) => ({ body, link, local: sized(p, radius) })),
      );
    this.childBalls = balls(ends);
    this.parentBalls = measured ? balls(others) : null;
    const halos = ends.map(({ body, link, p }) => ({ body, link, local: sized(p, at(shape.halos, link)) }));
    this.halos = new Parts(
      ball,
      halo,
      halos.filter(({ link }) => at(shape.halos, link) > 0),
    );
    this.halos.mesh.renderOrder = 2;
    this.gaps = measured ? new InstancedMesh(stick, this.joints, Math.max(1, model.links.length)) : null;
    const parts = [this.limbs, this.stalks, this.cubes, this.axes, this.dashes, this.childBalls, this.parentBalls];
    for (const part of parts) {
      if (part === null || part.parts.length === 0) continue;
      this.group.add(part.mesh);
      if (part !== this.axes && part !== this.dashes) this.shadows.add(part.shadow(shade));
    }
    if (this.halos.parts.length) this.group.add(this.halos.mesh);
    for (const { mesh, parts } of [this.slips, this.slipped]) {
      mesh.renderOrder = 3;
      if (parts.length) this.group.add(mesh);
    }
    if (this.gaps) {
      this.gaps.frustumCulled = false;
      this.gaps.count = model.links.length;
      this.group.add(this.gaps);
    }
  }

  /** Drawn pale, so that the other copy shows through. */
  set pale(pale: boolean) {
    for (const material of [this.solid, this.joints]) {
      material.transparent = pale;
      material.opacity = pale ? 0.42 : 1;
      material.depthWrite = !pale;
      material.needsUpdate = true;
    }
    this.halos.mesh.visible = !pale;
  }

  update(poses: Poses, k: number, enlarged: number, paint: Paint): void {
    this.poses.read(poses, k, enlarged);
    const { matrices, shows } = this.poses;
    const { links } = this.model;
    const holds = (link: number): boolean => paint.holds(link);
    links.forEach((joint, link) => {
      this.poses.point(joint.child, joint.p_child_joint, this.sides, link * 6);
      this.poses.point(joint.parent, joint.p_parent_joint, this.sides, link * 6 + 3);
    });
    this.cubes.place(matrices, shows);
    this.limbs.place(matrices, shows);
    this.stalks.place(matrices, shows);
    this.axes.place(matrices, shows, holds);
    this.dashes.place(matrices, shows, holds);
    this.childBalls.place(matrices, shows, holds);
    this.parentBalls?.place(matrices, shows, holds);
    this.halos.place(matrices, shows, holds);
    for (const part of [this.slips, this.slipped]) part.place(matrices, shows, (slip) => paint.slipped(slip));
    this.placeGaps(shows, holds);
  }

  paint(paint: Paint): void {
    const { colours } = paint;
    const sensor = this.role === "measured" && paint.departs ? colours.measured : colours.sensor;
    const ofBody = ({ body }: Part): Color => (body === paint.selectedBody ? colours.selected : paint.body(body));
    const ofSensor = ({ body }: Part): Color => (body === paint.selectedBody ? colours.selected : sensor);
    const ofAxis = ({ link }: Part): Color => (link === paint.selectedLink ? colours.selected : colours.axis);
    const ofLink = ({ link }: Part): Color => paint.link(link);
    const ofHalo = ({ link }: Part): Color => (link === paint.selectedLink ? colours.selected : paint.link(link));
    this.limbs.paint(ofBody);
    this.stalks.paint(ofBody);
    this.cubes.paint(ofSensor);
    this.axes.paint(ofAxis);
    this.dashes.paint(ofAxis);
    this.childBalls.paint(ofLink);
    this.parentBalls?.paint(ofLink);
    this.halos.paint(ofHalo);
    for (const part of [this.slips, this.slipped]) part.paint(() => colours.warn);
    const { gaps } = this;
    if (gaps === null) return;
    this.model.links.forEach((_, link) => gaps.setColorAt(link, paint.link(link)));
    if (gaps.instanceColor) gaps.instanceColor.needsUpdate = true;
  }

  private placeGaps(shows: Uint8Array, holds: (link: number) => boolean): void {
    const { gaps, sides } = this;
    if (gaps === null) return;
    this.model.links.forEach((joint, link) => {
      const o = link * 6;
      if (shows[joint.child] && shows[joint.parent] && holds(link)) {
        along(vectorAt(sides, o + 3), vectorAt(sides, o), this.shape.size * 0.045, this.matrix);
      } else this.matrix.makeScale(0, 0, 0);
      gaps.setMatrixAt(link, this.matrix);
    });
    gaps.instanceMatrix.needsUpdate = true;
  }
}
