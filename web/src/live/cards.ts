import { el } from "../dom";
import { clock } from "../format";
import type { Alarm, Guide, Progress, Solve, SourceStatus, Status } from "./messages";

const LIMITS = { motion: "needs motion", noise: "needs time", skin: "skin limits it" } as const;
const STATES = { waiting: "nothing yet", live: "", stale: "stale", lost: "lost" } as const;

/** What to do next, large enough to be read from where one moves. */
export function coachCard({ prompt, finished }: Solve): HTMLElement[] {
  if (prompt === null) return [];
  return [
    el("h2", { text: finished ? "Enough" : "Now" }),
    el("p", { class: finished ? "ask done" : "ask", text: prompt.text }),
  ];
}

/** What a visitor is asked to do, in the place of the coach; picture: of this step. */
export function guideCard(guide: Guide, picture: HTMLElement | null): HTMLElement[] {
  const { title, text, number, steps, joints, known, last } = guide;
  return [
    el("h2", { text: last ? title : `${title} ${Math.min(number, steps)} / ${steps}`.trim() }),
    el("p", { class: last ? "ask done" : "ask", text }),
    ...(picture && !last ? [picture] : []),
    ...(joints.length && !last ? [bar(known.length / joints.length)] : []),
  ];
}

/** Alarms, the newest first. */
export function alarmList(alarms: readonly Alarm[]): HTMLElement[] {
  if (alarms.length === 0) return [];
  const items = [...alarms]
    .sort((a, b) => (b.raised ?? 0) - (a.raised ?? 0))
    .map((alarm) =>
      el(
        "li",
        { class: alarm.over === null ? "finding warning" : "finding over" },
        el(
          "span",
          { class: "code" },
          el("span", { text: alarm.over === null ? "▲" : "✓" }),
          el("span", { text: alarm.code.replaceAll("-", " ") }),
          el("span", { class: "when", text: alarm.time ? clock(alarm.time[0], 1) : "" }),
        ),
        el("span", { class: "text", text: alarm.text }),
      ),
    );
  return [el("h2", { text: "Alarms" }), el("ol", { class: "pressing" }, ...items)];
}

/** How far every joint is, those that need most first. */
export function progressList(progress: readonly Progress[], interval: (joint: string) => string): HTMLElement[] {
  if (progress.length === 0) return [];
  const rows = [...progress]
    .sort((a, b) => rank(a) - rank(b) || a.share - b.share)
    .map((one) =>
      el(
        "li",
        { class: one.done ? "done" : one.set_aside ? "aside" : "" },
        el("bdi", { class: "name", text: one.name, title: one.joint }),
        bar(one.share),
        turnedAxes(one),
        el("span", { class: "half", text: interval(one.joint) }),
        el("span", {
          class: "limit quiet",
          text: one.set_aside ? "asked, no gain" : one.limit ? LIMITS[one.limit] : "",
        }),
      ),
    );
  return [el("h2", { text: "Joints" }), el("ol", {}, ...rows)];
}

/** What is asked for first, then what was asked for and gained nothing, then what is done. */
function rank({ done, set_aside }: Progress): number {
  return done ? 2 : set_aside ? 1 : 0;
}

/** A dot for each axis, full where the joint turned enough about it. */
function turnedAxes({ axes, turned }: Progress): HTMLElement {
  const sizes = turned.map((one) => `${Math.round((one * 180) / Math.PI)}°`).join(", ");
  const told = `turned enough about ${axes} of 3 axes: ${sizes} (rms about its own axes, most first)`;
  return el("span", { class: "axes", text: "●".repeat(axes) + "○".repeat(3 - axes), title: told, "aria-label": told });
}

function bar(share: number): HTMLElement {
  const meter = el("meter", { min: 0, max: 1, value: share.toFixed(3), low: 0.5, high: 0.9, optimum: 1 });
  meter.textContent = `${Math.round(share * 100)} %`;
  return meter;
}

/** What streams in, and what is kept of it. */
export function sourceList({ sources, frames, seconds, behind, restarts, viewers, marks }: Status): HTMLElement[] {
  const facts = [
    `${clock(seconds, 0)}`,
    `${frames.toLocaleString("en")} frames recorded`,
    behind === null ? "" : `solved up to ${behind.toFixed(1)} s ago`,
    restarts ? `solver started again ${restarts} ×` : "",
    viewers > 1 ? `${viewers} viewers` : "",
  ];
  return [
    el("ul", {}, ...sources.map(sourceLine)),
    el("p", { class: "quiet", text: facts.filter((fact) => fact).join(" · ") }),
    ...(marks.length ? [el("p", { class: "quiet marks", text: `Marks: ${marks.map(markText).join(" · ")}` })] : []),
  ];
}

function markText({ seconds, text }: Status["marks"][number]): string {
  return `${clock(seconds, 0)} ${text}`;
}

function sourceLine(one: SourceStatus): HTMLElement {
  const rate = one.rate === null ? "" : `${one.rate.toFixed(0)} Hz`;
  const words = [`${one.seen} of ${one.bodies}`, rate, one.ended ? "ended" : STATES[one.state], one.fault];
  return el(
    "li",
    { class: one.ended ? "ended" : one.state },
    el("bdi", { class: "name", text: one.word }),
    el("span", { class: "quiet", text: ` ${words.filter((word) => word).join(", ")}` }),
  );
}
