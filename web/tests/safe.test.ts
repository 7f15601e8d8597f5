import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { licences, policy } from "../one_file.ts";

const SOURCE = join(import.meta.dirname, "../src");
const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => /\.(ts|css)$/.test(name));

// What turns text into markup, code or a request. Only motion.ts may fetch: pieces, from where the page itself came.
const FORBIDDEN =
  /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|setAttribute\("(style|on)|localStorage|XMLHttpRequest|EventSource|sendBeacon|import\(/;

it.each(files)("%s makes no markup and no code from text", (name) => {
  expect(readFileSync(join(SOURCE, name), "utf8")).not.toMatch(FORBIDDEN);
});

it("only the motion, and the pictures of a routine, are ever fetched", () => {
  const fetching = files.filter((name) => /\bfetch\(/.test(readFileSync(join(SOURCE, name), "utf8")));
  expect(fetching.sort()).toEqual([join("live", "pictures.ts"), join("motion", "motion.ts")]);
});

it("only the page of a session opens a stream", () => {
  const streaming = files.filter((name) => /new WebSocket\(/.test(readFileSync(join(SOURCE, name), "utf8")));
  expect(streaming).toEqual([join("live", "stream.ts")]);
});

it("no address of another place stands in the sources, but the name of SVG", () => {
  const found = files.flatMap((name) => readFileSync(join(SOURCE, name), "utf8").match(/https?:\/\/[^"'\s)]+/g) ?? []);
  expect(new Set(found)).toEqual(new Set(["http://www.w3.org/2000/svg"]));
});

it("the policy allows this script and this style, and nothing else", () => {
  const text = policy("a", "b");
  expect(text).toContain("default-src 'none'");
  expect(text).toContain("script-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='");
  expect(text).toContain("style-src 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='");
  expect(text).toContain("connect-src 'none'");
  expect(text).not.toContain("unsafe");
});

it("the lock names no registry", () => {
  const lock = readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8");
  expect(lock).not.toMatch(/"resolved"/);
});

it("the licences of the libraries inside go with the page, in a comment that nothing ends early", () => {
  const text = licences();
  expect(text).toContain("three.js authors");
  expect(text).toContain("Leon Sorokin");
  expect(text.slice(4, -3)).not.toContain("--");
});
