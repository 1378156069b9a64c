import type { JSX } from "preact";
import type { Session } from "../../state.ts";

/** What is shown to somebody who has not logged in. */
export function LoginView({ session }: { readonly session: Session }): JSX.Element {
  const isBusy = session.state === "logging-in";
  const message = session.state === "none" ? session.message : undefined;
  return (
    <main class="login">
      <h1>Berth</h1>
      {message !== undefined && (
        <p class="login-problem" role="alert">
          {message}
        </p>
      )}
      {isBusy ? (
        <p role="status">Logging in…</p>
      ) : (
        <>
          <p>To see this node, run this on it and open the address that it prints:</p>
          <pre>
            <code>berth ui</code>
          </pre>
          <p class="muted">
            A login works once, within five minutes, for the browser that opens it. From another
            machine, forward the port first:{" "}
            <code>
              ssh -L {location.port}:127.0.0.1:{location.port} HOST
            </code>
          </p>
        </>
      )}
    </main>
  );
}
