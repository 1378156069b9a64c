import type { Command } from "./command.ts";
import { checkCommand } from "./commands/check.ts";
import { completionCommand } from "./commands/completion.ts";
import { debugCommand } from "./commands/debug.ts";
import { describeCommand } from "./commands/describe.ts";
import { downCommand } from "./commands/down.ts";
import { execCommand } from "./commands/exec.ts";
import { gcCommand } from "./commands/gc.ts";
import { getCommand } from "./commands/get.ts";
import { historyCommand } from "./commands/history.ts";
import { kubeletCommand } from "./commands/kubelet.ts";
import { logsCommand } from "./commands/logs.ts";
import { planCommand } from "./commands/plan.ts";
import { replayCommand } from "./commands/replay.ts";
import { runCommand } from "./commands/run.ts";
import { simCommand } from "./commands/sim.ts";
import { topCommand } from "./commands/top.ts";
import { uiCommand } from "./commands/ui.ts";
import { upCommand } from "./commands/up.ts";
import { versionCommand } from "./commands/version.ts";
import { whyCommand } from "./commands/why.ts";

/** In the order of the overview. Completion and man pages are written from this table as well. */
export const commandTable: readonly Command[] = [
  upCommand,
  downCommand,
  runCommand,
  simCommand,
  kubeletCommand,
  getCommand,
  describeCommand,
  logsCommand,
  execCommand,
  debugCommand,
  whyCommand,
  historyCommand,
  replayCommand,
  topCommand,
  planCommand,
  uiCommand,
  gcCommand,
  checkCommand,
  completionCommand(() => commandTable),
  versionCommand,
];
