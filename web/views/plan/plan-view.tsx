import type { JSX } from "preact";

export function PlanView(): JSX.Element {
  return (
    <section aria-labelledby="plan-title">
      <h1 id="plan-title">What if</h1>
    </section>
  );
}
