import {
  context,
  createContextKey,
  isSpanContextValid,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type TracerProvider,
} from '@opentelemetry/api';
import type { HoldDescription, WaitDescription } from '../core/diagnostics/diagnostics.js';
import { FairLockError } from '../core/errors/fair-lock-error.js';
import { VERSION } from '../core/runtime/version.js';
import { subscribeGuarded } from './guarded.js';

/** In the context of a leader's section: the link to the span of its term. */
const TERM = createContextKey('nestjs-fair-lock: term');

/**
 * For a span that the section of a leader (`lead`) begins: the link to the span of its term. It is no parent, since a trace would then last as
 * long as the term. Elsewhere there is none.
 *
 * @example
 * tracer.startActiveSpan('batch', { links: linksToTerm() }, (span) => sendNextBatch().finally(() => span.end()));
 */
export function linksToTerm(): Link[] {
  return linksIn(context.active());
}

/** A span with a parent needs none: the first span of its trace has the link. */
function linksIn(caller: Context): Link[] {
  const link = trace.getSpan(caller) ? undefined : (caller.getValue(TERM) as Link | undefined);
  return link ? [link] : [];
}

/**
 * A span `fairlock wait` for each request that stood in the queue, and a span `fairlock hold` for each hold, whose section runs inside
 * of it, unless it is that of a leader. The returned function ends the tracing.
 *
 * Times are those of `performance.now()`, which OpenTelemetry accepts and converts to its own clock.
 */
export function traceInOtel(provider: TracerProvider | undefined, keys: boolean): () => void {
  const tracer = (provider ?? trace).getTracer('nestjs-fair-lock', VERSION);
  const callers = new WeakMap<WaitDescription, Context>();
  const spans = new WeakMap<HoldDescription, Span>();
  const attributesOf = ({ key, lock, label, share }: WaitDescription | HoldDescription): Attributes => ({
    'fairlock.lock': lock,
    ...(label !== '' && { 'fairlock.label': label }),
    ...(share && { 'fairlock.mode': share.mode }),
    ...(share?.mode === 'permits' && { 'fairlock.permits': share.permits, 'fairlock.weight': share.weight }),
    ...(keys && { 'fairlock.key': key }),
  });

  return subscribeGuarded({
    waitBegins: (wait) => {
      const caller = context.active();
      callers.set(wait, caller);
      noteTrace(wait, caller);
    },
    waitEnds: (wait) => {
      // A request that was served immediately did not wait, so it has no span; the metrics contain its time.
      if (wait.ahead === undefined) return;
      const attributes = {
        ...attributesOf(wait),
        'fairlock.ahead': wait.ahead,
        'fairlock.outcome': wait.outcome ?? 'refused',
      };
      const caller = callers.get(wait) ?? context.active();
      const links = linksIn(caller);
      const span = tracer.startSpan(
        'fairlock wait',
        { startTime: wait.startedAt, attributes, links },
        caller,
      );
      if (wait.error !== undefined) fail(span, wait.error);
      span.end(wait.endedAt);
    },
    holdBegins: (hold) => {
      const attributes = {
        ...attributesOf(hold),
        'fairlock.waited': hold.waited / 1_000,
        ...(hold.token !== undefined && { 'fairlock.token': hold.token }),
      };
      const links = linksToTerm();
      const span = tracer.startSpan('fairlock hold', { startTime: hold.startedAt, attributes, links });
      spans.set(hold, span);
      const spanContext = span.spanContext();
      if (isSpanContextValid(spanContext)) hold.traceId = spanContext.traceId;
      const { around } = hold;
      hold.around = (section) => {
        const outside = context.active();
        const within = hold.term
          ? outside.setValue(TERM, { context: spanContext })
          : trace.setSpan(outside, span);
        const inside = (): ReturnType<typeof section> => context.with(within, section);
        return around ? around(inside) : inside();
      };
    },
    holdEnds: (hold) => {
      const span = spans.get(hold);
      if (!span) return;
      span.setAttribute('fairlock.outcome', hold.outcome ?? 'released');
      if (hold.outcome === 'lost')
        span.setStatus({ code: SpanStatusCode.ERROR, message: 'The lock was lost.' });
      span.end(hold.endedAt);
    },
  });
}

/** Notes the trace id for `query`, which shows it. */
function noteTrace(wait: WaitDescription, active: Context): void {
  const spanContext = trace.getSpanContext(active);
  if (spanContext && isSpanContextValid(spanContext)) wait.traceId = spanContext.traceId;
}

/** Marks a span as failed, without any text that could contain a key. */
function fail(span: Span, error: unknown): void {
  const isOurs = error instanceof FairLockError;
  span.setStatus({ code: SpanStatusCode.ERROR, message: isOurs ? error.message : 'The wait failed.' });
  span.setAttribute('error.type', isOurs ? error.code : 'error');
}
