import { useEffect, useState } from "preact/hooks";
import type { Pod } from "../../../../src/model/pod.ts";
import { usePage } from "../../../hooks.ts";
import { emptyLog, type LogContent } from "../../../model/log-buffer.ts";
import { type LogChoice, LogReader } from "./log-reader.ts";

/** A container's log; followed it goes on with the container's next run. */
export function useLog(pod: Pod, choice: LogChoice): LogContent {
  const page = usePage();
  const [log, setLog] = useState(emptyLog);
  const { namespace, name, uid } = pod.metadata;
  const { container, follow, previous, timestamps } = choice;
  useEffect(() => {
    const end = new AbortController();
    setLog(emptyLog);
    const reader = new LogReader(page, { namespace, name, uid }, setLog);
    reader.run({ container, follow, previous, timestamps }, end.signal).catch(() => undefined);
    return () => end.abort();
  }, [page, namespace, name, uid, container, follow, previous, timestamps]);
  return log;
}
