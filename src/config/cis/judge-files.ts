import type { FileFact } from "../../model/file-fact.ts";
import type { CisFiles } from "./cis-facts.ts";
import { judged, notApplicable, type Verdict } from "./verdict.ts";

interface FileLine {
  readonly id: string;
  readonly title: string;
  readonly judge: (files: CisFiles) => Verdict;
}

/** Section 4.1: who may read and write the files that a node is configured by. */
export const fileLines: readonly FileLine[] = [
  ...pair(1, "service file", {
    files: "service",
    widest: 0o600,
    none: "no service file of a kubelet or of Berth was found",
  }),
  ...pair(3, "kubeconfig of kube-proxy", {
    files: "proxyKubeconfig",
    widest: 0o600,
    none: "none was found",
  }),
  ...pair(5, "kubeconfig", {
    files: "kubeconfig",
    widest: 0o600,
    none: "no --kubeconfig is given",
  }),
  ...pair(7, "client CA file", {
    files: "clientCa",
    widest: 0o644,
    none: "authentication.x509.clientCAFile is not set",
  }),
  ...pair(9, "configuration file", {
    files: "config",
    widest: 0o600,
    none: "no --config is given",
  }),
];

interface FileRule {
  readonly files: keyof CisFiles;
  /** The most that others may be allowed. */
  readonly widest: number;
  /** What is said where there is no such file. */
  readonly none: string;
}

/** Two lines of the benchmark, on the same files: their permissions, and who owns them. */
function pair(first: number, what: string, { files, widest, none }: FileRule): readonly FileLine[] {
  return [
    {
      id: `4.1.${first}`,
      title: `${what}: permissions`,
      judge: (found) => judgeMode(found[files], widest, none),
    },
    {
      id: `4.1.${first + 1}`,
      title: `${what}: owner`,
      judge: (found) => judgeOwner(found[files], none),
    },
  ];
}

function judgeMode(files: readonly FileFact[], widest: number, none: string): Verdict {
  const tooWide = (mode: number): boolean => (mode & 0o7777 & ~widest) !== 0;
  return judgeFiles(files, none, ({ path, seen }) => {
    if (seen.kind !== "file") return undefined;
    const fix = tooWide(seen.mode) ? `chmod ${octal(widest)} ${path}` : undefined;
    return { found: `${path} has ${octal(seen.mode)}`, fix };
  });
}

function judgeOwner(files: readonly FileFact[], none: string): Verdict {
  return judgeFiles(files, none, ({ path, seen }) => {
    if (seen.kind !== "file") return undefined;
    const isRoot = seen.uid === 0 && seen.gid === 0;
    const found = isRoot ? "root:root" : `${seen.uid}:${seen.gid}`;
    return { found: `${path} is ${found}'s`, fix: isRoot ? undefined : `chown root:root ${path}` };
  });
}

type Look = (
  file: FileFact,
) => { readonly found: string; readonly fix: string | undefined } | undefined;

/** Every file that is there must be in order; one that cannot be read is not. */
function judgeFiles(files: readonly FileFact[], none: string, look: Look): Verdict {
  if (files.length === 0) return notApplicable(none);
  const missing = files.filter(({ seen }) => seen.kind === "missing");
  if (missing.length === files.length) {
    return notApplicable(`${missing.map(({ path }) => path).join(", ")} does not exist`);
  }
  const looks = files.flatMap((file) => {
    const { path, seen } = file;
    if (seen.kind === "unreadable") {
      return [{ found: `${path}: ${seen.problem}`, fix: "run this check as root" }];
    }
    return look(file) ?? [];
  });
  const fixes = [...new Set(looks.flatMap(({ fix }) => fix ?? []))];
  const shown = fixes.length === 0 ? looks : looks.filter(({ fix }) => fix !== undefined);
  return judged(fixes.length === 0, shown.map(({ found }) => found).join(", "), fixes.join("; "));
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8);
}
