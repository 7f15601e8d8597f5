/** What the stream of a session says; src/condyle/live/messages.py writes it. */

import type { PageData } from "../data";
import type { Vector } from "../vector";

export interface Hello {
  readonly type: "hello";
  /** whether this page may stop, mark and restart */
  readonly acts: boolean;
}

/** Names of the bodies whose poses come from now on. */
export interface Bodies {
  readonly type: "bodies";
  readonly names: readonly string[];
}

export interface Alarm {
  /** [s] when it was raised, and when it was over; null: not yet */
  readonly raised: number | null;
  readonly over: number | null;
  readonly code: string;
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly bodies: readonly string[];
  readonly time: readonly [number, number] | null;
}

export interface Progress {
  readonly joint: string;
  readonly name: string;
  /** 0 to 1 */
  readonly share: number;
  /** known, or as far as this motion brings it */
  readonly done: boolean;
  readonly limit: "motion" | "noise" | "skin" | null;
  /** about how many axes it turned enough, and [rad] rms about its own axes, most first */
  readonly axes: number;
  readonly turned: Vector;
  /** it was asked for and gained nothing */
  readonly set_aside: boolean;
}

export interface Solve {
  readonly type: "solve";
  /** [s] of the newest frame in it */
  readonly until: number;
  /** why there is no figure; "" where there is one */
  readonly problem: string;
  readonly shown: {
    readonly page: PageData;
    readonly up: string | null;
    readonly low: Vector;
    readonly high: Vector;
  } | null;
  /** about: direction in the body's frame about which its joint is to be turned */
  readonly prompt: { readonly joint: string | null; readonly text: string; readonly about: Vector | null } | null;
  readonly progress: readonly Progress[];
  readonly finished: boolean;
  readonly cpu: number;
}

export interface SourceStatus {
  readonly word: string;
  readonly state: "waiting" | "live" | "stale" | "lost";
  readonly ended: boolean;
  readonly bodies: number;
  readonly seen: number;
  readonly rate: number | null;
  readonly fault: string;
}

export interface Status {
  readonly type: "status";
  /** [s] since the session began */
  readonly seconds: number;
  readonly sources: readonly SourceStatus[];
  readonly frames: number;
  /** frames that are not in the recording, and why none is taken now; "" while they are */
  readonly lost: number;
  readonly fault: string;
  /** what last went wrong with showing or marking; "" for nothing */
  readonly trouble: string;
  /** [s] that the newest solve is behind what comes in; null before the first */
  readonly behind: number | null;
  readonly restarts: number;
  readonly given_up: boolean;
  readonly viewers: number;
  readonly alarms: readonly Alarm[];
  readonly marks: readonly { readonly seconds: number; readonly text: string }[];
  readonly guide: Guide | null;
}

/** Where a visitor is in a routine. */
export interface Guide {
  readonly title: string;
  readonly text: string;
  /** name of a picture beside the page; "" for none */
  readonly picture: string;
  readonly number: number;
  readonly steps: number;
  readonly joints: readonly string[];
  readonly known: readonly string[];
  /** [s] since the step began */
  readonly seconds: number;
  /** whether these are the last words */
  readonly last: boolean;
}

/** The session is over; where its result is. */
export interface End {
  readonly type: "end";
  readonly text: string;
}

export type Message = Hello | Bodies | Solve | Status | End;
