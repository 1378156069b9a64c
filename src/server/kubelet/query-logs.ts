// /logs/?query=…: what services have logged, from the journal or from files.
import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, constants as zlib } from "node:zlib";
import { withDeadline } from "../../lib/deadline.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { startTimer } from "../../lib/timers.ts";
import { type KubeletExchange, sendRefusal } from "./answers.ts";
import { type LogQuery, parseLogQuery } from "./log-query.ts";
import { answerSystemLogs, openBelow } from "./system-logs.ts";

const deadlineMs = 30_000;
const maxQueries = 4;
const journalFlags = ["--utc", "--no-pager", "--output=short-precise"];
const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" };

export interface LogSources {
  readonly folder: string;
  /** The program that reads the journal. */
  readonly journalctl: string;
}

/** Answers requests for /logs of a server that also answers queries. */
export class LogQueries {
  readonly #sources: LogSources;
  readonly #turns = new Semaphore(maxQueries);

  constructor(sources: LogSources) {
    this.#sources = sources;
  }

  async answer(exchange: KubeletExchange): Promise<void> {
    const { parameters, query, response, signal } = exchange;
    const parsed = parseLogQuery(query);
    if (!parsed.ok) {
      sendRefusal(response, parsed.error.status, parsed.error.body);
      return;
    }
    const asked = parsed.value;
    const { folder } = this.#sources;
    if (asked === undefined) return answerSystemLogs(folder, exchange);
    if ((parameters["logpath"] ?? "") !== "") {
      sendRefusal(response, 406, "path not allowed in query mode");
      return;
    }
    if (asked.file !== undefined) {
      const path = `/logs/${asked.file}`;
      return answerSystemLogs(folder, { ...exchange, path, parameters: { logpath: asked.file } });
    }
    await this.#turns.run(() => this.#sendServices(asked, exchange), signal);
  }

  async #sendServices(asked: LogQuery, { request, response, signal }: KubeletExchange) {
    const isZipped = request.headers["accept-encoding"] === "gzip";
    response.writeHead(200, {
      "Content-Type": "text/plain;charset=UTF-8",
      "X-Content-Type-Options": "nosniff",
      ...(isZipped ? { "Content-Encoding": "gzip" } : {}),
    });
    const gzip = isZipped ? createGzip({ level: zlib.Z_BEST_SPEED }) : undefined;
    const zipped = gzip === undefined ? undefined : pipeline(gzip, response, { signal });
    const output = gzip ?? response;
    const limit = { ms: deadlineMs, what: "the query of logs" };
    await withDeadline({ startTimer }, limit, signal, (either) =>
      this.#copy(asked, output, either),
    ).catch((error: unknown) => {
      // Over time the client gets what there is; a client that is gone gets nothing.
      if (signal.aborted) throw error;
    });
    output.end();
    await zipped;
  }

  async #copy(asked: LogQuery, output: Writable, signal: AbortSignal): Promise<void> {
    const units = await this.#listUnits(signal);
    const inJournal = asked.services.filter((name) => units.includes(`${name}.service`));
    const inFiles = asked.services.filter((name) => !inJournal.includes(name));
    if (inJournal.length > 0) {
      const chosen = inJournal.map((name) => `--unit=${name}`);
      const flags = [...journalFlags, ...asked.journalFlags, ...chosen];
      await this.#runJournal(flags, output, signal);
    }
    if (inFiles.length === 0) return;
    if (asked.journalFlags.length > 0) {
      output.write(
        `\noptions present and query resolved to log files for [${inFiles.join(" ")}]\ntry without specifying options\n`,
      );
      return;
    }
    for (const name of inFiles) await this.#copyFile(name, output, signal);
  }

  /** Of which the journal has lines; empty where there is no journal. */
  async #listUnits(signal: AbortSignal): Promise<string> {
    const child = spawn(this.#sources.journalctl, ["--field", "_SYSTEMD_UNIT"], {
      stdio: ["ignore", "pipe", "ignore"],
      env: environment,
      signal,
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    return new Promise((resolve) => {
      child.once("error", () => resolve(""));
      child.once("close", (code) => resolve(code === 0 ? text : ""));
    });
  }

  #runJournal(flags: readonly string[], output: Writable, signal: AbortSignal): Promise<void> {
    const child = spawn(this.#sources.journalctl, flags, {
      stdio: ["ignore", "pipe", "pipe"],
      env: environment,
      signal,
    });
    child.stdout.pipe(output, { end: false });
    child.stderr.pipe(output, { end: false });
    return new Promise((resolve) => {
      child.once("error", () => {
        if (!signal.aborted) output.write("\nerror: journal output not available\n");
        resolve();
      });
      child.once("close", () => resolve());
    });
  }

  /** The first of name, name.log and name/name.log that is a file. */
  async #copyFile(name: string, output: Writable, signal: AbortSignal): Promise<void> {
    for (const path of [name, `${name}.log`, `${name}/${name}.log`]) {
      const found = await openBelow(this.#sources.folder, path);
      if (found === undefined) continue;
      const { file, isFolder } = found;
      try {
        if (isFolder) continue;
        const { size } = await file.stat();
        if (size === 0) return;
        const bytes = file.createReadStream({ autoClose: false, start: 0, end: size - 1 });
        await pipeline(bytes, output, { end: false, signal });
        return;
      } finally {
        await file.close();
      }
    }
    output.write(`\nlog not found for ${name}\n`);
  }
}
