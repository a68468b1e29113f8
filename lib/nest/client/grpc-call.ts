import { type ArgumentsHost } from '@nestjs/common';

/** A call of gRPC. It ends before its response when the client cancels it, or its deadline has passed. */
export interface GrpcCall {
  readonly cancelled: boolean;
  once(event: 'cancelled', listener: () => void): unknown;
}

/** Nest gives a handler the message, the metadata and the call. Undefined for other transports. */
export function grpcCallOf(host: ArgumentsHost): GrpcCall | undefined {
  const call: unknown = host.getType() === 'rpc' ? host.getArgs<unknown[]>()[2] : undefined;
  return typeof call === 'object' && call !== null && 'sendMetadata' in call
    ? (call as unknown as GrpcCall)
    : undefined;
}

/** The status codes of gRPC for the HTTP statuses of errors. */
const CODES: Readonly<Record<number, number>> = {
  400: 3, // INVALID_ARGUMENT
  409: 10, // ABORTED
  423: 10, // ABORTED: a concurrent call has the lock
  499: 1, // CANCELLED
  503: 14, // UNAVAILABLE
};
const INTERNAL = 13;

export function grpcCodeOf(httpStatus: number): number {
  return CODES[httpStatus] ?? INTERNAL;
}
