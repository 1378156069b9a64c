import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const programs = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
const patienceMs = 60_000;
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface BrowserOptions {
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** Where names lead, as --host-resolver-rules has it. */
  readonly hosts?: string;
}

/** Debian's Chromium with a profile of its own, which notes every request that pages make. */
export class TestBrowser {
  readonly context: BrowserContext;
  /** What pages asked for, whether or not it was answered. */
  readonly requests: string[] = [];
  /** What pages wrote to their consoles as errors, and errors that they did not catch. */
  readonly errors: string[] = [];
  readonly #profile: string;

  private constructor(context: BrowserContext, profile: string) {
    this.context = context;
    this.#profile = profile;
    context.setDefaultTimeout(patienceMs);
    context.on("request", (request) => this.requests.push(request.url()));
    context.on("weberror", (error) => this.errors.push(error.error().message));
    context.on("console", (message) => {
      if (message.type() === "error") this.errors.push(message.text());
    });
  }

  /** `folder` takes its profile. */
  static async start(folder: string, options: BrowserOptions = {}): Promise<TestBrowser> {
    const executablePath = programs.find((path) => existsSync(path));
    if (executablePath === undefined) {
      throw new Error("there is no chromium: node tools/setup/main.mjs test installs it");
    }
    const profile = join(folder, `profile-${process.hrtime.bigint()}`);
    mkdirSync(profile);
    const { colorScheme = "light", width = 1280, height = 800, hosts } = options;
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      args: hosts === undefined ? flags : [...flags, `--host-resolver-rules=${hosts}`],
      colorScheme,
      viewport: { width, height },
      locale: "en-GB",
      timezoneId: "UTC",
    });
    return new TestBrowser(context, profile);
  }

  async open(address: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(address);
    return page;
  }

  /** The requests that were not for the server at `origin`. */
  foreignRequests(origin: string): readonly string[] {
    return this.requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"));
  }

  async close(): Promise<void> {
    await this.context.close();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
