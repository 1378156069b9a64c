import type { JSX } from "preact";
import { useAtMs } from "../../hooks.ts";
import { hrefOf, type PodTab } from "../../routes.ts";
import { EventsTab } from "./events-tab.tsx";
import { LogsTab } from "./logs/logs-tab.tsx";
import { ManifestTab } from "./manifest/manifest-tab.tsx";
import { PodHead } from "./pod-head.tsx";
import { TerminalTab } from "./terminal/terminal-tab.tsx";
import { TimelineTab } from "./timeline/timeline-tab.tsx";
import { type Subject, useSubject } from "./use-subject.ts";

const tabs: readonly { readonly tab: PodTab; readonly text: string }[] = [
  { tab: "timeline", text: "Timeline" },
  { tab: "logs", text: "Logs" },
  { tab: "terminal", text: "Terminal" },
  { tab: "manifest", text: "Manifest" },
  { tab: "events", text: "Events" },
];

export interface PodViewProps {
  readonly namespace: string;
  readonly name: string;
  readonly tab: PodTab;
}

/** One pod: its state and what is awaited, and more about it below `tab`. */
export function PodView({ namespace, name, tab }: PodViewProps): JSX.Element {
  const atMs = useAtMs();
  const subject = useSubject(namespace, name);
  return (
    <section aria-labelledby="pod-title">
      <PodHead namespace={namespace} name={name} subject={subject} />
      <nav class="tabs" aria-label="About the pod">
        {tabs.map((each) => (
          <a
            key={each.tab}
            href={hrefOf({ route: { view: "pod", namespace, name, tab: each.tab }, atMs })}
            aria-current={each.tab === tab ? "page" : undefined}
          >
            {each.text}
          </a>
        ))}
      </nav>
      <Tab key={`${subject.uid} ${tab}`} tab={tab} subject={subject} />
    </section>
  );
}

function Tab({
  tab,
  subject,
}: {
  readonly tab: PodTab;
  readonly subject: Subject;
}): JSX.Element | null {
  if (subject.uid === undefined) return null;
  switch (tab) {
    case "timeline":
      return <TimelineTab uid={subject.uid} />;
    case "events":
      return <EventsTab uid={subject.uid} />;
    case "logs":
      return <LogsTab pod={subject.live} />;
    case "terminal":
      return <TerminalTab pod={subject.live} />;
    case "manifest":
      return <ManifestTab pod={subject.live} />;
  }
}
