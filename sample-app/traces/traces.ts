import { type OnApplicationShutdown } from '@nestjs/common';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { instrumentFairLock } from 'nestjs-fair-lock/otel';

/**
 * With `TRACES=console`, prints a span for each wait in line and for each hold. An application that is deployed starts the
 * SDK of OpenTelemetry with its exporter before Nest, and calls `instrumentFairLock()` without a provider.
 */
export class Traces implements OnApplicationShutdown {
  private readonly end: () => void = () => undefined;

  constructor(where: 'off' | 'console') {
    if (where === 'off') return;
    // Makes the spans of a section children of its hold.
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
    });
    this.end = instrumentFairLock({ tracerProvider, metrics: false });
  }

  onApplicationShutdown(): void {
    this.end();
  }
}
