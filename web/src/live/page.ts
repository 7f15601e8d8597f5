import { button, el } from "../dom";
import { mm } from "../format";
import { Model, selectBody } from "../model";
import { Theme } from "../page/theme";
import { verdictPart } from "../page/verdict";
import type { Movement } from "../scene/gesture";
import { Stage } from "../scene/stage";
import { Store } from "../store";
import type { Vector } from "../vector";
import { Bell } from "./bell";
import { alarmList, coachCard, guideCard, progressList, sourceList } from "./cards";
import { emptyPage } from "./empty";
import type { Bodies, Guide, Message, Progress, Solve, Status } from "./messages";
import { LiveMotion } from "./motion";
import { Pictures } from "./pictures";
import { Stream, streamUrl } from "./stream";

/** [s] from which it is told that the newest solve lags: three periods of it */
const BEHIND_FROM_S = 6;
const NOWHERE: { up: string | null; low: Vector; high: Vector } = { up: null, low: [0, 0, 0], high: [0, 0, 0] };

/** The page of a session in progress: everything on it is told by the stream. */
export function startLive(root: HTMLElement): void {
  const page = new LivePage();
  root.append(page.header, page.main);
  document.title = "live · condyle";
}

class LivePage {
  readonly header: HTMLElement;
  readonly main: HTMLElement;
  private readonly theme = new Theme();
  private readonly bell = new Bell();
  private readonly store = new Store({
    frame: 0,
    playing: true,
    speed: 1,
    body: null,
    link: null,
    view: "measured",
    enlarged: 1,
    colour: "figure",
    follow: true,
    trails: false,
    labels: true,
  });
  private readonly verdict = el("div", { class: "live-verdict" });
  private readonly figure = el("section", { class: "figure", "aria-label": "Figure" });
  private readonly coach = el("section", { class: "coach", "aria-live": "polite" });
  private readonly alarms = el("section", { class: "alarms", role: "alert" });
  private readonly joints = el("section", { class: "progress" });
  private readonly sources = el("section", { class: "sources" });
  private readonly banner = el("p", { class: "banner", role: "status" });
  private readonly tools = el("div", { class: "tools" });
  private readonly stream: Stream;
  private names: readonly string[] = [];
  private model: Model | null = null;
  private motion: LiveMotion | null = null;
  private stage: Stage | null = null;
  private readonly pictures = new Pictures();
  private movement: Movement | null = null;
  private over = false;
  private restarts = 0;
  /** [s] of the session until which a solver that was started again is told */
  private revivedUntil = 0;

  constructor() {
    this.header = this.buildHeader();
    this.main = el(
      "main",
      { class: "live" },
      this.banner,
      el(
        "div",
        { class: "first" },
        this.verdict,
        this.figure,
        el("aside", { class: "beside" }, this.coach, this.alarms, this.joints, this.sources),
      ),
    );
    this.verdict.append(waiting("Waiting for the first poses."));
    this.theme.onChange(() => this.stage?.repaint());
    this.stream = new Stream(streamUrl(location), {
      message: (message) => this.take(message),
      frame: (time, values) => this.move(time, values),
      connected: (there) => {
        // The last words stay when the session is over, and its program gone.
        if (!this.over) this.say(there ? "" : "The stream was cut. Trying to reach it again …");
      },
    });
  }

  private buildHeader(): HTMLElement {
    const switcher = button("", "Light or dark", () => this.theme.toggle());
    const name = (): void => {
      switcher.textContent = this.theme.dark ? "Light" : "Dark";
    };
    this.theme.onChange(name);
    name();
    this.tools.append(this.bell.button, switcher);
    return el(
      "header",
      { class: "bar" },
      el("h1", {}, el("span", { class: "mark", text: "condyle" }), el("span", { class: "title", text: "live" })),
      this.tools,
    );
  }

  private take(message: Message): void {
    if (message.type === "hello") this.greet(message.acts);
    else if (message.type === "bodies") this.meet(message);
    else if (message.type === "solve") this.show(message);
    else if (message.type === "status") this.report(message);
    else this.end(message.text);
  }

  private greet(acts: boolean): void {
    if (!acts || this.tools.querySelector(".act")) return;
    const act = (label: string, title: string, word: string): HTMLElement =>
      button(label, title, () => this.stream.say(word), { class: "act" });
    const note = el("input", {
      class: "act note",
      placeholder: "note",
      maxlength: 200,
      "aria-label": "Note of the mark",
    });
    const mark = (): void => {
      this.stream.say(`mark ${note.value}`);
      note.value = "";
    };
    note.addEventListener("keydown", ({ key }) => key === "Enter" && mark());
    this.tools.prepend(
      note,
      button("Mark", "Mark this moment in the recording", mark, { class: "act" }),
      act("Restart", "Forget what came so far and begin anew; the recording goes on", "restart"),
      act("Stop", "End the session and fit all of it", "stop"),
    );
  }

  private meet({ names }: Bodies): void {
    this.names = names;
    this.store.set({ body: null, link: null }); // they are numbers among other bodies
    this.build(new Model(emptyPage(names)), NOWHERE);
  }

  /** Another figure; `keepsView`: seen from where the last one was. */
  private build(model: Model, room: typeof NOWHERE, keepsView = false): void {
    this.model = model;
    this.motion = new LiveMotion(model, this.names, room);
    if (this.stage && (room.up === null || room.up === this.stage.upAxis)) {
      this.stage.show(model, this.motion, keepsView);
      this.stage.demonstrate(this.movement);
    } else this.stage = this.stage?.dispose() ?? null; // made by the next frame, the right way up
  }

  private move(time: number, values: Float32Array): void {
    const { model, motion, store } = this;
    if (model === null || motion === null) return;
    const frame = 1 - store.state.frame;
    motion.write(frame, time, values);
    if (this.stage === null) {
      motion.write(1 - frame, time, values);
      try {
        this.stage = new Stage(model, motion, store);
        this.stage.demonstrate(this.movement);
        this.figure.replaceChildren(this.stage.element);
      } catch {
        this.figure.replaceChildren(
          el("p", { class: "no-figure", text: "The figure needs WebGL, which this browser does not offer here." }),
        );
        this.motion = null;
      }
    }
    store.set({ frame });
  }

  private show(solve: Solve): void {
    if (solve.shown !== null) {
      const { page } = solve.shown;
      const first = this.model === null || this.model.data.joints.length === 0;
      const model = new Model(page);
      this.movement = this.guide === null ? movementOf(model, solve) : null;
      this.build(model, solve.shown, !first);
      if (first && page.joints.length) this.store.set({ view: "played", colour: "residual" });
      this.verdict.replaceChildren(verdictPart(model, this.store));
      this.point(solve);
    } else this.verdict.replaceChildren(waiting(`No figure yet: ${solve.problem}`));
    if (this.guide === null) this.coach.replaceChildren(...coachCard(solve));
    this.joints.replaceChildren(...progressList(solve.progress, (joint) => this.halfWidth(joint)));
  }

  private guide: Guide | null = null;
  private solve: Solve | null = null;

  /** Marks on the figure the joint that is asked for. */
  private point(solve: Solve): void {
    const { model } = this;
    this.solve = solve;
    if (model === null) return;
    const wanted = this.guide === null ? solve.prompt?.joint : guidedJoint(this.guide, solve.progress);
    const asked = model.bodies.findIndex((body) => body.name === wanted);
    selectBody(this.store, model, asked < 0 ? null : asked);
  }

  /** The step of a routine, in the place of the coach. */
  private lead(guide: Guide | null): void {
    const before = this.guide;
    this.guide = guide;
    if (guide === null) return;
    this.main.classList.add("guided");
    this.main.classList.toggle("visitor", this.tools.querySelector(".act") === null);
    if (JSON.stringify({ ...guide, seconds: 0 }) === JSON.stringify({ ...before, seconds: 0 })) return;
    this.coach.replaceChildren(...guideCard(guide, this.pictures.of(guide.picture)));
    if (this.solve !== null) this.point(this.solve);
  }

  /** The 95 % interval of a joint in words. */
  private halfWidth(child: string): string {
    const { model } = this;
    const joint = model?.data.joints.find((one) => model.body(one.child).name === child);
    return joint?.half_width == null || joint.point === "arbitrary" ? "" : `± ${mm(joint.half_width)} mm`;
  }

  private report(status: Status): void {
    this.sources.replaceChildren(...sourceList(status));
    this.alarms.replaceChildren(...alarmList(status.alarms));
    this.bell.ring(status.alarms.length);
    this.lead(status.guide);
    if (status.restarts > this.restarts) this.revivedUntil = status.seconds + 10;
    this.restarts = status.restarts;
    document.documentElement.dataset.seconds = status.seconds.toFixed(1);
    const visits = this.main.classList.contains("visitor"); // what is wrong is for who can do something about it
    this.say(visits ? "" : describeTrouble(status, status.seconds < this.revivedUntil));
  }

  private end(text: string): void {
    this.over = true;
    this.say(text);
    for (const one of this.tools.querySelectorAll(".act")) one.remove();
  }

  private say(text: string): void {
    this.banner.textContent = text;
    this.banner.hidden = text === "";
  }
}

/** What the banner says; revived: the solver was started again a moment ago. */
export function describeTrouble(status: Status, revived: boolean): string {
  const missing = `${status.lost} ${status.lost === 1 ? "frame" : "frames"}`;
  if (status.fault) return `Not recorded: ${missing}. ${status.fault}`;
  if (status.given_up) return "Nothing is solved any more: the solver died too often. The recording goes on.";
  const kept = status.lost ? `Not in the recording: ${missing}.` : "The recording is whole.";
  return [
    revived ? `The solver died and was started again. ${kept}` : "",
    status.trouble ? `The page or a mark had trouble: ${status.trouble}. The recording goes on.` : "",
    status.behind !== null && status.behind > BEHIND_FROM_S ? `Behind by ${status.behind.toFixed(1)} s.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** The body whose joint a step of a routine is for: the first that is not known yet. */
function guidedJoint({ joints, known }: Guide, progress: readonly Progress[]): string | undefined {
  const open = joints.filter((name) => !known.includes(name));
  return progress.find(({ name, joint }) => open.includes(name) || open.includes(joint))?.joint;
}

/** What the coach asks for, as a movement of the figure. */
function movementOf(model: Model, { prompt }: Solve): Movement | null {
  const body = model.bodies.findIndex(({ name }) => name === prompt?.joint);
  return body < 0 || !prompt?.about ? null : { body, about: prompt.about };
}

function waiting(text: string): HTMLElement {
  return el("section", { class: "verdict-part look" }, el("p", { class: "sentence" }, el("span", { text })));
}
