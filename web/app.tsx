// The frame around all views, and which of them is shown.
import type { JSX } from "preact";
import { usePage, useStore } from "./hooks.ts";
import { TimeControl } from "./parts/time-control.tsx";
import { TroubleBanner } from "./parts/trouble-banner.tsx";
import { hrefOf, type Place, type Route } from "./routes.ts";
import { LoginView } from "./views/login/login-view.tsx";
import { NodeView } from "./views/node/node-view.tsx";
import { PlanView } from "./views/plan/plan-view.tsx";
import { PodView } from "./views/pod/pod-view.tsx";
import { PodsView } from "./views/pods/pods-view.tsx";

export function App(): JSX.Element {
  const page = usePage();
  const session = useStore(page.session);
  const place = useStore(page.place);
  if (session.state !== "known") return <LoginView session={session} />;
  return (
    <div class={place.atMs === undefined ? "page" : "page is-past"}>
      <Header place={place} />
      <TroubleBanner />
      {place.route.view !== "plan" && <TimeControl />}
      <main class="main" id="main" tabIndex={-1}>
        <View route={place.route} />
      </main>
    </div>
  );
}

function View({ route }: { readonly route: Route }): JSX.Element {
  switch (route.view) {
    case "node":
      return <NodeView />;
    case "pods":
      return <PodsView />;
    case "pod":
      return <PodView namespace={route.namespace} name={route.name} tab={route.tab} />;
    case "plan":
      return <PlanView />;
  }
}

function Header({ place }: { readonly place: Place }): JSX.Element {
  const info = useStore(usePage().info);
  const { view } = place.route;
  return (
    <header class="header">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <span class="brand">Berth</span>
      <span class="node-name" title={info?.nodeName}>
        {info?.nodeName ?? ""}
      </span>
      <nav class="nav" aria-label="Views">
        <NavLink place={place} view="node" isCurrent={view === "node"} text="Node" />
        <NavLink
          place={place}
          view="pods"
          isCurrent={view === "pods" || view === "pod"}
          text="Pods"
        />
        <NavLink place={place} view="plan" isCurrent={view === "plan"} text="What if" />
      </nav>
    </header>
  );
}

function NavLink({
  place,
  view,
  isCurrent,
  text,
}: {
  readonly place: Place;
  readonly view: "node" | "pods" | "plan";
  readonly isCurrent: boolean;
  readonly text: string;
}): JSX.Element {
  return (
    <a
      href={hrefOf({ route: { view }, atMs: place.atMs })}
      aria-current={isCurrent ? "page" : undefined}
    >
      {text}
    </a>
  );
}
