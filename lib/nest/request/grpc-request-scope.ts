import {
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { Observable, tap } from 'rxjs';
import { controllerForMany } from '../../core/runtime/abort-relay.js';
import { ClientGoneError } from '../../core/errors/errors.js';
import { type RequestClient, runForClient } from '../../core/runtime/async-context.js';
import { ListOfClass } from '../decorator/nest-metadata.js';
import { type GrpcCall, grpcCallOf } from './grpc-call.js';

/** Runs every call of gRPC in an async scope that knows its client: a request in the queue whose call has been cancelled leaves the queue. */
class GrpcRequestScope implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = grpcCallOf(context);
    if (!call) return next.handle();
    const client = new CallingClient(call);
    const end = (): void => client.end();
    return new Observable((subscriber) =>
      runForClient(client, () =>
        next
          .handle()
          .pipe(tap({ complete: end, error: end }))
          .subscribe(subscriber),
      ),
    );
  }
}

/** The client of a call, until its handler has ended: work that the call leaves behind is not tied to it. */
class CallingClient implements RequestClient {
  private ended = false;
  private controller: AbortController | undefined;

  constructor(private readonly call: GrpcCall) {}

  get awaitsAnswer(): boolean {
    return !this.ended;
  }

  leaving(): AbortSignal {
    if (!this.controller) {
      this.controller = controllerForMany();
      this.call.once('cancelled', () => this.leave());
      if (this.call.cancelled) this.leave();
    }
    return this.controller.signal;
  }

  end(): void {
    this.ended = true;
  }

  private leave(): void {
    if (!this.ended) this.controller?.abort(new ClientGoneError());
  }
}

const scope = new GrpcRequestScope();
const interceptors = new ListOfClass(UseInterceptors(scope));

/** Prepares all controllers with gRPC handlers. A global interceptor would cost every HTTP request. */
export async function prepareGrpcControllers(modules: ModulesContainer): Promise<void> {
  const isGrpcHandler = await grpcHandlerCheck();
  for (const { controllers } of modules.values()) {
    for (const { metatype } of controllers.values()) {
      if (typeof metatype === 'function' && methodsOf(metatype.prototype as object).some(isGrpcHandler)) {
        interceptors.prepend(metatype, scope);
      }
    }
  }
}

/** Whether a method is a gRPC handler, by what `@GrpcMethod` sets; without its package none is. */
async function grpcHandlerCheck(): Promise<(method: object) => boolean> {
  try {
    const { GrpcMethod, Transport } = await import('@nestjs/microservices');
    const value = (): void => undefined;
    GrpcMethod('Probe', 'probe')({}, 'probe', { value });
    const keys = (Reflect.getMetadataKeys(value) as unknown[]).filter(
      (key) => Reflect.getMetadata(key, value) === Transport.GRPC,
    );
    return (method) => keys.some((key) => Reflect.getMetadata(key, method) === Transport.GRPC);
  } catch {
    return () => false;
  }
}

function methodsOf(prototype: object): object[] {
  const above = Object.getPrototypeOf(prototype) as object | null;
  const own = Object.values(Object.getOwnPropertyDescriptors(prototype)).flatMap(({ value }) =>
    typeof value === 'function' ? [value as object] : [],
  );
  return above && above !== Object.prototype ? [...own, ...methodsOf(above)] : own;
}
