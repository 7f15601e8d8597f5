import {
  AmbientLight,
  type Color,
  DirectionalLight,
  DoubleSide,
  HemisphereLight,
  InstancedMesh,
  MeshBasicMaterial,
  Scene,
  Vector3,
} from "three";
import type { Model } from "../model";
import type { Poses } from "../motion/unpack";
import type { MotionView } from "../motion/view";
import type { State } from "../store";
import type { Vector } from "../vector";
import type { Eye } from "./camera";
import type { Colours } from "./colours";
import { Dots } from "./dots";
import { Floor } from "./floor";
import { Gesture, type Movement } from "./gesture";
import type { Picture } from "./pictures";
import { type Paint, Rig } from "./rig";
import { type Shape, shapeOf } from "./shape";
import { Trails } from "./trails";
import { extentOf } from "./upright";

/** Everything there is to be drawn: both copies of the figure with their shadows, markers, trails, the floor and the light. */
export class Room {
  readonly scene = new Scene();
  readonly shape: Shape;
  readonly played: Rig;
  readonly measured: Rig;
  /** [m] between two lines on the floor */
  readonly gridStep: number;
  private readonly floor: Floor;
  private readonly trails: Trails;
  private readonly markers = new Dots();
  private readonly shade = new MeshBasicMaterial({ side: DoubleSide });
  private readonly lamp = new DirectionalLight(0xffffff, 2.1);
  private gesture: Gesture | null = null;

  /** Sizes are those of the figure in `frame`. */
  constructor(
    model: Model,
    private readonly motion: MotionView,
    frame: number,
    up: Vector3,
  ) {
    const { page } = motion;
    const corner = (v: Vector): Vector3 => new Vector3(...v).sub(new Vector3(...page.origin));
    const low = corner(page.low);
    const high = corner(page.high);
    const across = Math.max(low.distanceTo(high), 1e-3);
    this.shape = shapeOf(model, extentOf(motion.pointsAt(frame), up).radius);
    this.played = new Rig(model, this.shape, "played", this.shade);
    this.measured = new Rig(model, this.shape, "measured", this.shade);
    const level = Math.min(low.dot(up), high.dot(up)) - this.shape.size * 0.12;
    this.floor = new Floor(up, low.clone().add(high).multiplyScalar(0.5), level, across);
    this.gridStep = this.floor.step;
    this.trails = new Trails(motion, model.bodies.length);
    for (const rig of this.rigs) {
      rig.shadows.matrixAutoUpdate = false;
      rig.shadows.matrix.copy(this.floor.flatten);
      rig.shadows.renderOrder = -1;
      this.scene.add(rig.group, rig.shadows);
    }
    const sky = new HemisphereLight(0xffffff, 0xb0a89c, 1.6);
    sky.position.copy(up);
    this.scene.add(
      this.floor.lines,
      this.trails.lines,
      this.markers.points,
      sky,
      new AmbientLight(0xffffff, 0.5),
      this.lamp,
    );
  }

  /** A movement that is shown on the figure; null: none. */
  demonstrate(model: Model, movement: Movement | null): void {
    if (this.gesture) this.scene.remove(this.gesture.group);
    this.gesture?.dispose();
    this.gesture = movement === null ? null : new Gesture(model, this.shape.size, movement);
    if (this.gesture) this.scene.add(this.gesture.group);
  }

  /** Gives back what the graphics card holds of it. */
  dispose(): void {
    this.gesture?.dispose();
    this.scene.traverse((part) => {
      if (part instanceof InstancedMesh) part.dispose();
    });
    this.trails.lines.geometry.dispose();
    this.markers.dispose();
  }

  get rigs(): readonly Rig[] {
    return [this.played, this.measured];
  }

  /** Colours of what stays as it is from frame to frame. */
  paint(colours: Colours): void {
    this.shade.color.copy(colours.shadow);
    this.floor.paint(colours.grid);
    this.markers.paint(colours);
  }

  resize(width: number, height: number): void {
    this.trails.resize(width, height);
  }

  /** Moves the figure to the frame of `state`, which lies in `poses`, and paints what the pictures show. */
  update(poses: Poses, state: State, pictures: readonly Picture[], paint: Paint): void {
    const k = state.frame - poses.first;
    this.played.update(poses, k, 1, paint);
    this.measured.update(poses, k, state.enlarged, paint);
    for (const picture of pictures) for (const rig of picture.rigs) rig.paint(paint);
    const markers = this.motion.markersAt?.(state.frame);
    if (markers) this.markers.update(markers);
    if (state.trails) this.drawTrails(state, paint.colours);
    this.trails.lines.visible = state.trails;
    const { matrices, shows } = (state.view === "measured" ? this.measured : this.played).poses;
    this.gesture?.paint(paint.colours);
    this.gesture?.update(matrices, shows, performance.now() / 1000);
  }

  /** Shows what belongs to a picture, and only that. */
  show(picture: Picture): void {
    for (const rig of this.rigs) {
      rig.group.visible = picture.rigs.includes(rig);
      rig.shadows.visible = rig === picture.front;
    }
  }

  /** The light comes from behind and above the eye. */
  lightFrom(eye: Eye): void {
    const { position } = eye.camera;
    this.lamp.position.copy(position).addScaledVector(eye.up, position.length() * 0.8);
    this.lamp.target.position.copy(eye.controls.target);
    this.lamp.target.updateMatrixWorld();
  }

  /** Trails of the selected body, of all where none is. */
  private drawTrails(state: State, colours: Colours): void {
    const role = state.view === "measured" ? "measured" : "played";
    const isDrawn = (body: number): boolean => state.body === null || body === state.body;
    const colour = (body: number): Color => (body === state.body ? colours.selected : colours.sensor);
    this.trails.update(state.frame, role, isDrawn, colour, colours.paper);
  }
}
