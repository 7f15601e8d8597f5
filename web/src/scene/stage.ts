import { at } from "../at";
import { el, onResize } from "../dom";
import { type Model, selectBody, selectLink } from "../model";
import type { MotionView } from "../motion/view";
import type { Store } from "../store";
import { Aim } from "./aim";
import { Eye } from "./camera";
import { coloursOfStyle, forgetRamp } from "./colours";
import type { Movement } from "./gesture";
import { Labels } from "./labels";
import { namesOf } from "./names";
import { makePaint } from "./paint";
import { PaperCopy } from "./paper";
import { type Picked, pick } from "./picking";
import { captionsOf, type Picture, picturesOf } from "./pictures";
import { Pointer } from "./pointer";
import { Renderer } from "./renderer";
import type { Paint } from "./rig";
import { Room } from "./room";
import type { Shape } from "./shape";
import { likelyUp, upVector } from "./upright";

/** The figure in three dimensions: decides when to draw, and has the parts of the scene do it. */
export class Stage {
  readonly element = el("div", { class: "stage" });
  readonly canvas = el("canvas", { tabindex: "0", role: "img" });
  readonly eye: Eye;
  /** world axis that is drawn upwards */
  readonly upAxis: string;
  private readonly captions = el("div", { class: "captions" });
  private readonly labels = new Labels();
  private readonly paper = new PaperCopy();
  private room: Room;
  private readonly renderer: Renderer;
  private aim: Aim;
  private readonly pointer: Pointer;
  private paint: Paint;
  /** frame that the figure was moved to, null where something else changed since */
  private shownFrame: number | null = null;
  /** whether a hand turns the view */
  private held = false;
  private awake = false;

  constructor(
    private model: Model,
    public motion: MotionView,
    private readonly store: Store,
  ) {
    const { frame } = store.state;
    this.upAxis = motion.page.up ?? likelyUp(motion.pointsAt(frame));
    const up = upVector(this.upAxis);
    this.room = new Room(model, motion, frame, up);
    this.renderer = new Renderer(this.canvas);
    this.eye = new Eye(this.canvas, up, () => this.wake());
    this.aim = new Aim(model, motion, this.room, this.eye);
    this.paint = this.mixPaint();
    this.pointer = new Pointer(
      this.canvas,
      (event) => this.pickUnder(event),
      () => this.wake(),
      (picked) => this.select(picked),
    );
    this.element.append(this.canvas, this.paper.element, this.labels.layer, this.captions);
    this.canvas.setAttribute("aria-label", describe(model));
    this.listen();
  }

  /** Gives back what the graphics card holds; nothing is drawn any more. */
  dispose(): null {
    this.awake = true; // for good
    this.room.dispose();
    this.renderer.dispose();
    this.element.remove();
    return null;
  }

  /** Another figure; `keepsView`: the camera stays. */
  show(model: Model, motion: MotionView, keepsView: boolean): void {
    this.model = model;
    this.motion = motion;
    this.room.dispose();
    this.room = new Room(model, motion, this.store.state.frame, this.eye.up);
    this.room.resize(this.renderer.width, this.renderer.height);
    this.room.measured.pale = this.store.state.view === "ghost";
    this.aim = new Aim(model, motion, this.room, this.eye);
    this.aim.isSet = keepsView;
    this.paint = this.mixPaint();
    this.canvas.setAttribute("aria-label", describe(model));
    this.shownFrame = null;
    this.wake();
  }

  /** Shows a movement on the figure, until another figure is shown; null: none. */
  demonstrate(movement: Movement | null): void {
    this.room.demonstrate(this.model, movement);
    this.shownFrame = null;
    this.wake();
  }

  get shape(): Shape {
    return this.room.shape;
  }

  /** [m] between two lines on the floor. */
  get gridStep(): number {
    return this.room.gridStep;
  }

  /** After a change of theme. */
  repaint(): void {
    this.paint = this.mixPaint();
    this.shownFrame = null;
    if (this.renderer.width > 1) this.render(); // at once: a page that is being printed does not wait
    if (matchMedia("print").matches) this.paper.take(this.canvas);
  }

  /** The view as it was at first. */
  resetView(): void {
    this.aim.reset();
    this.wake();
  }

  /** Draws again at the next chance. */
  private wake(): void {
    if (this.awake) return;
    this.awake = true;
    requestAnimationFrame(() => {
      this.awake = false;
      this.render();
    });
  }

  private render(): void {
    const { aim, renderer } = this;
    const { state } = this.store;
    const poses = this.motion.poses(state.frame);
    if (poses === null) return;
    const pictures = this.pictures();
    if (this.shownFrame !== state.frame) {
      this.room.update(poses, state, pictures, this.paint);
      this.shownFrame = state.frame;
    }
    renderer.adjust(state.playing || this.held);
    if (!aim.isSet && renderer.height >= 2) aim.set(state.frame);
    if (state.follow && !this.held) aim.follow(state.playing ? 0.12 : 1);
    this.draw(pictures);
  }

  private draw(pictures: readonly Picture[]): void {
    const { eye, labels, renderer, room } = this;
    const width = renderer.width / pictures.length;
    eye.setAspect(width / renderer.height);
    room.lightFrom(eye);
    renderer.clear(this.paint.colours.paper);
    labels.begin();
    pictures.forEach((picture, i) => {
      room.show(picture);
      renderer.draw(room.scene, eye.camera, i * width, width);
      const names = namesOf(picture.front, this.model, this.store.state, this.pointer.hovered);
      labels.add(names, eye.camera, i * width, width, renderer.height);
    });
    labels.end();
  }

  private pictures(): Picture[] {
    return picturesOf(this.store.state.view, this.room.played, this.room.measured);
  }

  private mixPaint(): Paint {
    forgetRamp();
    const colours = coloursOfStyle();
    this.room.paint(colours);
    return makePaint(this.model, this.motion, this.store, colours);
  }

  private listen(): void {
    onResize(this.element, (width, height) => {
      this.renderer.resize(width, height);
      this.room.resize(width, height);
      this.eye.setAspect(width / this.pictures().length / height);
      this.render();
    });
    this.listenToStore();
    this.eye.controls.addEventListener("start", () => {
      this.held = true;
    });
    this.eye.controls.addEventListener("end", () => {
      this.held = false;
      this.wake();
      this.aim.keep();
    });
    this.motion.onArrival(() => this.shownFrame === null && this.wake());
    addEventListener("beforeprint", () => {
      this.render();
      this.paper.take(this.canvas);
    });
  }

  private listenToStore(): void {
    const { store } = this;
    store.watch(["playing"], () => this.wake()); // at rest it is drawn as finely as can be
    store.watch(["follow"], () => this.wake());
    store.watch(["frame", "body", "link", "view", "enlarged", "colour", "trails", "labels"], () => {
      this.shownFrame = null;
      this.wake();
    });
    store.watch(["view"], ({ view }) => {
      this.room.measured.pale = view === "ghost";
      this.aim.isSet = false; // both halves of a divided picture need their own distance
    });
    store.watch(["view", "enlarged"], ({ enlarged }) => {
      const captions = captionsOf(this.pictures(), enlarged);
      this.captions.replaceChildren(...captions.map((text) => el("span", { text })));
    });
  }

  private pickUnder(event: MouseEvent): Picked | null {
    const box = this.canvas.getBoundingClientRect();
    const pictures = this.pictures();
    const width = box.width / pictures.length;
    const x = event.clientX - box.left;
    const number = Math.max(0, Math.min(pictures.length - 1, Math.floor(x / width)));
    const { rigs } = at(pictures, number);
    const y = event.clientY - box.top;
    return pick(rigs, this.model, this.eye.camera, x - number * width, y, width, box.height);
  }

  private select({ body, link }: Picked): void {
    if (link !== null) selectLink(this.store, this.model, link);
    else selectBody(this.store, this.model, body);
  }
}

/** What the canvas shows, for those who cannot see it. */
function describe({ bodies, data }: Model): string {
  const figures = new Set(bodies.filter((body) => body.figure >= 0).map((body) => body.figure)).size;
  const loose = bodies.filter((body) => body.figure < 0).length;
  return (
    `The figure in three dimensions: ${data.joints.length} joints, ${bodies.length} sensors, ` +
    `${figures} figures, ${loose} loose. ` +
    "Arrow keys turn it, plus and minus zoom; everything it shows is in the tables below."
  );
}
