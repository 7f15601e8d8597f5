import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/first_screen.css";
import "./style/plots.css";
import "./style/tables.css";
import "./style/print.css";
import "./style/live.css";
import { button, el } from "./dom";
import { startLive } from "./live/page";
import { isLive, readPage } from "./load";
import { Model, selectBody } from "./model";
import { bytesOf, Motion } from "./motion/motion";
import { buildPage } from "./page/build";
import { Store } from "./store";

/** The body to look at first: that of the most pressing finding, else of the joint that comes apart most. */
function firstBody(model: Model): number | null {
  const pressing = model.data.findings.filter((finding) => finding.severity !== "info");
  const body = pressing.flatMap((finding) => finding.bodies).find((b) => !model.body(b).world);
  if (body !== undefined) return body;
  return model.worst === null ? null : model.link(model.worst).child;
}

async function start(): Promise<void> {
  const root = document.getElementById("page");
  if (root === null) throw new Error("the page has no place to be built in");
  const text = document.getElementById("condyle-data")?.textContent ?? "";
  if (isLive(text)) {
    startLive(root);
    return;
  }
  const data = readPage(text);
  if (typeof data === "string") {
    root.append(
      el(
        "main",
        { class: "empty" },
        el("h1", { text: "condyle" }),
        el("p", { text: data }),
        button("Reload", "Read the page again", () => location.reload()),
      ),
    );
    return;
  }
  const model = new Model(data);
  document.title = `${data.title} · condyle`;
  const store = new Store({
    frame: 0,
    playing: false,
    speed: 1,
    body: null,
    link: null,
    view: data.joints.length ? "played" : "measured",
    enlarged: 1,
    colour: data.joints.length ? "residual" : "figure",
    follow: true,
    trails: false,
    labels: data.bodies.length <= 8 || data.joints.length === 0,
  });
  selectBody(store, model, firstBody(model));
  const motion = data.motion && data.motion.frames > 0 ? new Motion(data.motion, model, bytesOf(data.motion)) : null;
  if (motion) store.set({ frame: await motion.firstFrame() });
  root.append(...buildPage(model, motion, store));
  void motion?.loadAll().then(() => (document.documentElement.dataset.motion = "whole"));
}

void start();
