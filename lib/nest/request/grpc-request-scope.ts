import {
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { type Observable } from 'rxjs';
import { ClientGoneError } from '../../core/errors/errors.js';
import { ListOfClass } from '../decorator/nest-metadata.js';
import { type GrpcCall, grpcCallOf } from './grpc-call.js';
import { runHandler } from './handled-message.js';

/** Runs every call of gRPC in an async scope that knows its client: a request in the queue whose call has been cancelled leaves the queue. */
class GrpcRequestScope implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = grpcCallOf(context);
    return call ? runHandler(next, () => cancellationOf(call)) : next.handle();
  }
}

function cancellationOf(call: GrpcCall): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort(new ClientGoneError());
  call.once('cancelled', leave);
  if (call.cancelled) leave();
  return gone.signal;
}

const scope = new GrpcRequestScope();
const interceptors = new ListOfClass(UseInterceptors(scope));

/** Prepares all controllers with gRPC handlers. A global interceptor would cost every HTTP request. */
export async function prepareGrpcControllers(modules: ModulesContainer): Promise<void> {
  const isGrpcHandler = await grpcHandlerCheck();
  const scanner = new MetadataScanner();
  for (const { controllers } of modules.values()) {
    for (const { metatype } of controllers.values()) {
      if (typeof metatype !== 'function') continue;
      const prototype = metatype.prototype as Record<string, object>;
      const names = scanner.getAllMethodNames(prototype);
      if (names.some((name) => isGrpcHandler(prototype[name]!))) interceptors.prepend(metatype, scope);
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
