// What a query of /logs asks for, with the kubelet's names, limits and refusals.
import { parseGoDecimal } from "../../lib/go-number.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseTime } from "../../lib/time.ts";
import {
  type FieldError,
  formatFieldError,
  invalid,
  required,
  tooMany,
} from "../../model/validate/field-error.ts";
import type { QueryValues, Refusal } from "./stream-options.ts";

const maxTailLines = 100_000;
const maxServiceLength = 256;
const maxServices = 4;
const maxPatternLength = 1024;

/** Logs of services, or of one file. */
export interface LogQuery {
  readonly services: readonly string[];
  /** Below the folder of logs. */
  readonly file: string | undefined;
  /** Flags of journalctl that choose lines; empty = all. */
  readonly journalFlags: readonly string[];
}

interface Options {
  readonly sinceTime: string | undefined;
  readonly untilTime: string | undefined;
  readonly tailLines: number | undefined;
  readonly boot: number | undefined;
  readonly pattern: string | undefined;
}

/** Undefined when nothing is asked for, and the path counts. */
export function parseLogQuery(query: QueryValues): Result<LogQuery | undefined, Refusal> {
  const queries = query.get("query");
  const files = (queries ?? []).filter((text) => /[/\\]/.test(text));
  const services = (queries ?? []).filter((text) => !/[/\\]/.test(text) && text.trim() !== "");
  const errors: FieldError[] = [];
  if (queries !== undefined && files.length + services.length === 0) {
    errors.push(invalid("query", { json: queries }, "may not be empty"));
  }
  const options: Options = {
    sinceTime: readTime(query, "sinceTime", errors),
    untilTime: readTime(query, "untilTime", errors),
    boot: readNumber(query, "boot", errors),
    tailLines: readNumber(query, "tailLines", errors),
    pattern: query.get("pattern")?.[0] || undefined,
  };
  if (errors.length > 0) return err({ status: 400, body: textOf(errors) });
  const hasOptions = Object.values(options).some((value) => value !== undefined);
  if (queries === undefined && !hasOptions) return ok(undefined);
  const problems = [
    ...serviceErrors(services),
    ...targetErrors({ files, services, hasOptions }),
    ...optionErrors(options),
  ];
  if (problems.length > 0) return err({ status: 406, body: textOf(problems) });
  return ok({ services, file: files[0]?.replaceAll("\\", "/"), journalFlags: flagsOf(options) });
}

function readTime(query: QueryValues, name: string, errors: FieldError[]): string | undefined {
  const text = query.get(name)?.[0] || undefined;
  if (text === undefined || parseTime(text) !== undefined) return text;
  errors.push(invalid(name, text, "invalid time format"));
  return undefined;
}

function readNumber(query: QueryValues, name: string, errors: FieldError[]): number | undefined {
  const text = query.get(name)?.[0] || undefined;
  if (text === undefined) return undefined;
  const parsed = parseGoDecimal(text);
  if (parsed.ok) return Number(parsed.value);
  errors.push(invalid(name, text, parsed.error.replace(/Parse(?:Int|Uint)/, "Atoi")));
  return undefined;
}

function serviceErrors(services: readonly string[]): readonly FieldError[] {
  const errors = services.flatMap((service) => {
    if (service.length > maxServiceLength) {
      return [invalid("query", service, `length must be less than ${maxServiceLength}`)];
    }
    if (/^[a-zA-Z0-9\-_.:@]+$/.test(service)) return [];
    return [invalid("query", service, "input contains unsupported characters")];
  });
  const isMany = services.length > maxServices;
  return isMany ? [...errors, tooMany("query", services.length, maxServices)] : errors;
}

function targetErrors({
  files,
  services,
  hasOptions,
}: {
  readonly files: readonly string[];
  readonly services: readonly string[];
  readonly hasOptions: boolean;
}): readonly FieldError[] {
  if (files.length === 0) {
    return services.length === 0 ? [required("query", "cannot be empty with options")] : [];
  }
  if (services.length > 0) {
    const both = `[${files.join(" ")}], [${services.join(" ")}]`;
    return [invalid("query", both, "cannot specify a file and service")];
  }
  const wrong = (detail: string): readonly FieldError[] => [
    invalid("query", { json: files }, detail),
  ];
  if (files.length > 1) return wrong("cannot specify more than one file");
  return hasOptions ? wrong("cannot specify file with options") : [];
}

function optionErrors(options: Options): readonly FieldError[] {
  const { sinceTime, untilTime, tailLines, boot, pattern = "" } = options;
  const errors: FieldError[] = [];
  const isTurned =
    sinceTime !== undefined &&
    untilTime !== undefined &&
    (parseTime(sinceTime) ?? 0) > (parseTime(untilTime) ?? 0);
  if (isTurned) errors.push(invalid("untilTime", untilTime, "must be after `sinceTime`"));
  if (boot !== undefined && boot > 0) errors.push(invalid("boot", boot, "must be less than 1"));
  if (tailLines !== undefined && (tailLines < 0 || tailLines > maxTailLines)) {
    const detail = `must be between 0 and ${maxTailLines}, inclusive`;
    errors.push(invalid("tailLines", tailLines, detail));
  }
  if (pattern.length > maxPatternLength) {
    errors.push(invalid("pattern", pattern, `length must be less than ${maxPatternLength}`));
  }
  return errors;
}

function flagsOf({ sinceTime, untilTime, tailLines, boot, pattern }: Options): readonly string[] {
  return [
    ...(sinceTime === undefined ? [] : [`--since=${journalTime(sinceTime)}`]),
    ...(untilTime === undefined ? [] : [`--until=${journalTime(untilTime)}`]),
    ...(tailLines === undefined ? [] : ["--pager-end", `--lines=${tailLines}`]),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ["--boot", String(boot)]),
  ];
}

/** As journalctl reads times. A kubelet hands it the hour that the client wrote, whatever its time zone; here it is the same moment. */
function journalTime(text: string): string {
  const moment = new Date(parseTime(text) ?? 0).toISOString();
  return `${moment.slice(0, 10)} ${moment.slice(11, 19)} UTC`;
}

function textOf(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))];
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
}
