import {
  AmbientLight,
  type Color,
  DirectionalLight,
  DoubleSide,
  HemisphereLight,
  MeshBasicMaterial,
  Scene,
  SRGBColorSpace,
  Vector3,
  WebGLRenderer,
} from "three";
import { at } from "../at";
import { el, onResize } from "../dom";
import { type Model, selectBody, selectLink } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";
import { Eye } from "./camera";
import { type Colours, coloursOfStyle, forgetRamp } from "./colours";
import { Floor } from "./floor";
import { Labels } from "./labels";
import { namesOf, standApart } from "./names";
import { Pace } from "./pace";
import { makePaint } from "./paint";
import { pick } from "./picking";
import { type Paint, Rig } from "./rig";
import { shapeOf } from "./shape";
import { Trails } from "./trails";
import { extentOf, likelyUp, upVector } from "./upright";

interface Look {
  readonly rigs: readonly Rig[];
  readonly name: string;
}

/** The figure in three dimensions. */
export class Stage {
  readonly element = el("div", { class: "stage" });
  readonly canvas = el("canvas", { tabindex: "0", role: "img" });
  readonly eye: Eye;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly labels = new Labels();
  private readonly paper = el("canvas", { class: "on-paper", "aria-hidden": "true" });
  private readonly captions = el("div", { class: "captions" });
  private readonly played: Rig;
  private readonly measured: Rig;
  private readonly trails: Trails;
  private readonly floor: Floor;
  private readonly shade = new MeshBasicMaterial({ side: DoubleSide });
  private readonly light = new DirectionalLight(0xffffff, 2.1);
  private readonly middle = new Vector3();
  private readonly place = new Vector3();
  private readonly last: Float32Array;
  /** from the mean of the bodies to what the camera looks at, now and when it was set up */
  private readonly offset = new Vector3();
  private readonly home = new Vector3();
  readonly shape;
  /** world axis that is drawn upwards */
  readonly upAxis: string;
  private colours: Colours;
  private paint: Paint;
  private framed = false;
  private held = false;
  private hovered: number | null = null;
  private shownFrame = -1;
  private awake = false;
  private readonly pace = new Pace();
  private width = 1;
  private height = 1;

  constructor(
    private readonly model: Model,
    readonly motion: Motion,
    private readonly store: Store,
  ) {
    const { page } = motion;
    this.upAxis = page.up ?? likelyUp(motion.pointsAt(store.state.frame));
    const up = upVector(this.upAxis);
    const corner = (v: readonly [number, number, number]): Vector3 =>
      new Vector3(...v).sub(new Vector3(...page.origin));
    const low = corner(page.low);
    const high = corner(page.high);
    const across = Math.max(low.distanceTo(high), 1e-3);
    this.shape = shapeOf(model, extentOf(motion.pointsAt(store.state.frame), up).radius);
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true });
    this.renderer.outputColorSpace = SRGBColorSpace;
    this.renderer.autoClear = false;
    this.renderer.setPixelRatio(this.finest());
    this.colours = coloursOfStyle();
    this.paint = makePaint(model, motion, store, this.colours);
    this.eye = new Eye(this.canvas, up, () => this.wake());
    this.last = new Float32Array(model.bodies.length * 3).fill(NaN);
    this.played = new Rig(model, this.shape, "played", this.shade);
    this.measured = new Rig(model, this.shape, "measured", this.shade);
    const level = Math.min(low.dot(up), high.dot(up)) - this.shape.size * 0.12;
    this.floor = new Floor(up, low.clone().add(high).multiplyScalar(0.5), level, across);
    this.trails = new Trails(motion, model.bodies.length);
    for (const rig of [this.played, this.measured]) {
      rig.shadows.matrixAutoUpdate = false;
      rig.shadows.matrix.copy(this.floor.flatten);
      rig.shadows.renderOrder = -1;
      this.scene.add(rig.group, rig.shadows);
    }
    const sky = new HemisphereLight(0xffffff, 0xb0a89c, 1.6);
    sky.position.copy(up);
    this.scene.add(this.floor.lines, this.trails.lines, sky, new AmbientLight(0xffffff, 0.5), this.light);
    this.element.append(this.canvas, this.paper, this.labels.layer, this.captions);
    this.canvas.setAttribute("aria-label", this.describe());
    this.repaint();
    this.listen();
  }

  /** After a change of theme. */
  repaint(): void {
    forgetRamp();
    this.colours = coloursOfStyle();
    this.paint = makePaint(this.model, this.motion, this.store, this.colours);
    this.shade.color.copy(this.colours.shadow);
    this.floor.paint(this.colours.grid);
    this.shownFrame = -1;
    if (this.width > 1) this.render(); // at once: a page that is being printed does not wait
    if (matchMedia("print").matches) this.copyForPaper();
  }

  /** Printing takes what the graphics card showed last; a copy in an ordinary canvas is taken as it is now. */
  private copyForPaper(): void {
    this.paper.width = this.canvas.width;
    this.paper.height = this.canvas.height;
    this.paper.getContext("2d")?.drawImage(this.canvas, 0, 0);
  }

  /** [m] between two lines on the floor. */
  get gridStep(): number {
    return this.floor.step;
  }

  /** Draws again at the next chance. */
  wake(): void {
    if (this.awake) return;
    this.awake = true;
    requestAnimationFrame(() => {
      this.awake = false;
      this.render();
    });
  }

  render(): void {
    const { state } = this.store;
    const poses = this.motion.poses(state.frame);
    if (poses === null) return;
    const looks = this.looks();
    if (this.shownFrame !== state.frame) {
      const k = state.frame - poses.first;
      this.played.update(poses, k, 1, this.paint);
      this.measured.update(poses, k, state.enlarged, this.paint);
      for (const look of looks) for (const rig of look.rigs) rig.paint(this.paint);
      this.shownFrame = state.frame;
      if (state.trails) this.drawTrails();
    }
    const ratio = this.finest() * this.pace.share(performance.now(), state.playing || this.held);
    if (Math.abs(ratio - this.renderer.getPixelRatio()) > 1e-6) this.renderer.setPixelRatio(ratio);
    if (!this.framed) this.frameAll();
    if (state.follow && !this.held) {
      const share = state.playing ? 0.12 : 1;
      this.eye.follow(this.centre(), share);
    }
    this.draw(looks);
  }

  /** Pixels of the canvas to one of the page; more than two are not seen. */
  private finest(): number {
    return Math.min(devicePixelRatio, 2);
  }

  private draw(looks: readonly Look[]): void {
    const { renderer, eye } = this;
    renderer.setClearColor(this.colours.paper);
    renderer.setScissorTest(false);
    renderer.clear();
    renderer.setScissorTest(true);
    this.labels.begin();
    const width = this.width / looks.length;
    eye.camera.aspect = width / this.height;
    eye.camera.updateProjectionMatrix();
    eye.camera.updateMatrixWorld();
    this.light.position.copy(eye.camera.position).addScaledVector(eye.up, eye.camera.position.length() * 0.8);
    this.light.target.position.copy(eye.controls.target);
    this.light.target.updateMatrixWorld();
    looks.forEach((look, i) => {
      for (const rig of [this.played, this.measured]) {
        rig.group.visible = look.rigs.includes(rig);
        rig.shadows.visible = rig === look.rigs[0];
      }
      this.trails.lines.visible = this.store.state.trails;
      renderer.setViewport(i * width, 0, width, this.height);
      renderer.setScissor(i * width, 0, width, this.height);
      renderer.render(this.scene, eye.camera);
      this.labels.add(
        namesOf(at(look.rigs, 0), this.model, this.store.state, this.hovered),
        eye.camera,
        i * width,
        width,
        this.height,
      );
    });
    this.labels.end();
  }

  /** Which copies are drawn, view by view from left to right. */
  private looks(): Look[] {
    const { view } = this.store.state;
    if (view === "side")
      return [
        { rigs: [this.measured], name: "measured" },
        { rigs: [this.played], name: "played" },
      ];
    if (view === "ghost") return [{ rigs: [this.played, this.measured], name: "played, measured as ghost" }];
    return [{ rigs: [view === "measured" ? this.measured : this.played], name: view }];
  }

  private drawTrails(): void {
    const { state } = this.store;
    const role = state.view === "measured" ? "measured" : "played";
    const chosen = (body: number): boolean => state.body === null || body === state.body;
    const colour = (body: number): Color => (body === state.body ? this.colours.selected : this.colours.sensor);
    this.trails.update(state.frame, role, chosen, colour, this.colours.paper);
  }

  /** What is followed: the mean of all bodies, each where it was seen last, moved by `offset`. */
  private centre(): Vector3 {
    const { played, measured, model } = this;
    this.middle.set(0, 0, 0);
    let n = 0;
    model.bodies.forEach((body, b) => {
      const rig = played.poses.shows[b] ? played : measured.poses.shows[b] ? measured : null;
      if (rig !== null) this.last.set(rig.poses.p.subarray(b * 3, b * 3 + 3), b * 3);
      if (body.world || Number.isNaN(this.last[b * 3])) return;
      this.middle.add(this.place.fromArray(this.last, b * 3));
      n++;
    });
    return n ? this.middle.divideScalar(n).add(this.offset) : this.middle.copy(this.eye.controls.target);
  }

  /** The view as it was at first. */
  resetView(): void {
    this.offset.copy(this.home);
    this.eye.reset();
    this.wake();
  }

  /** Sets the camera up so that every body of the first frames is in the picture. */
  private frameAll(): void {
    if (this.height < 2) return;
    const points = this.motion.pointsAt(this.store.state.frame);
    this.model.links.forEach(({ child }, l) => {
      if (this.played.poses.shows[child]) points.push(...this.played.sides.subarray(l * 6, l * 6 + 3));
    });
    if (points.length === 0) return;
    const { middle, radius, wide } = extentOf(points, this.eye.up);
    this.offset.set(0, 0, 0);
    const mean = this.centre().clone();
    middle.addScaledVector(this.eye.up, -0.06 * radius); // room for the words below the figure
    this.offset.copy(middle).sub(mean);
    this.home.copy(this.offset);
    this.eye.frame(
      middle,
      radius * 1.06 + this.shape.size * 0.5,
      standApart(this.model, [this.played, this.measured], this.eye.up) ?? wide,
    );
    this.framed = true;
  }

  private caption(): void {
    const { enlarged } = this.store.state;
    const larger = enlarged === 1 ? "" : `, departure × ${enlarged}`;
    const words = (name: string): string => name + (name.includes("measured") ? larger : "");
    this.captions.replaceChildren(...this.looks().map((look) => el("span", { text: words(look.name) })));
  }

  private listen(): void {
    const { store, canvas } = this;
    onResize(this.element, (width, height) => {
      this.width = width;
      this.height = height;
      this.renderer.setSize(width, height, false);
      this.trails.resize(width, height);
      const looks = this.looks().length;
      this.eye.camera.aspect = width / looks / height;
      if (this.framed) this.eye.camera.updateProjectionMatrix();
      this.render();
    });
    store.watch(["playing"], () => this.wake()); // at rest it is drawn as finely as can be
    store.watch(
      ["frame", "body", "link", "view", "enlarged", "colour", "follow", "trails", "labels"],
      (state, changed) => {
        if (!(changed.size === 1 && changed.has("follow"))) this.shownFrame = -1;
        if (changed.has("view") || changed.has("enlarged")) this.caption();
        if (changed.has("view")) {
          this.measured.pale = state.view === "ghost";
          if (this.framed) this.framed = changed.size > 8; // both halves of a divided picture need their own distance
        }
        this.wake();
      },
    );
    this.eye.controls.addEventListener("start", () => (this.held = true));
    this.eye.controls.addEventListener("end", () => {
      this.held = false;
      this.wake();
      this.offset.set(0, 0, 0); // where a hand moved the view to, it stays while following
      const mean = this.centre().clone();
      this.offset.copy(this.eye.controls.target).sub(mean);
    });
    this.motion.onArrival(() => this.shownFrame === -1 && this.wake());
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    let down = { x: 0, y: 0 };
    canvas.addEventListener("pointerdown", (event) => (down = { x: event.clientX, y: event.clientY }));
    canvas.addEventListener("click", (event) => {
      if (Math.hypot(event.clientX - down.x, event.clientY - down.y) > 5) return;
      const found = this.under(event);
      if (found?.link != null) selectLink(store, this.model, found.link);
      else if (found) selectBody(store, this.model, found.body);
    });
    addEventListener("beforeprint", () => {
      this.render();
      this.copyForPaper();
    });
  }

  private under(event: PointerEvent | MouseEvent): ReturnType<typeof pick> {
    const box = this.canvas.getBoundingClientRect();
    const looks = this.looks();
    const width = box.width / looks.length;
    const x = event.clientX - box.left;
    const number = Math.max(0, Math.min(looks.length - 1, Math.floor(x / width)));
    return pick(
      at(looks, number).rigs,
      this.model,
      this.eye.camera,
      x - number * width,
      event.clientY - box.top,
      width,
      box.height,
    );
  }

  private hover(event: PointerEvent | null): void {
    const found = event && event.buttons === 0 ? this.under(event) : null;
    const body = found?.body ?? null;
    this.canvas.classList.toggle("over", body !== null);
    if (body === this.hovered) return;
    this.hovered = body;
    this.wake();
  }

  private describe(): string {
    const { bodies, data } = this.model;
    const figures = new Set(bodies.filter((body) => body.figure >= 0).map((body) => body.figure)).size;
    const loose = bodies.filter((body) => body.figure < 0).length;
    return (
      `The figure in three dimensions: ${data.joints.length} joints, ${bodies.length} sensors, ${figures} figures, ${loose} loose. ` +
      "Arrow keys turn it, plus and minus zoom; everything it shows is in the tables below."
    );
  }
}
