import { UseFilters, UseInterceptors } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { handlerClasses, ListOfClass, markedBy } from '../decorator/nest-metadata.js';
import { FairLockFilter } from './fair-lock.filter.js';
import { WsRequestScope } from './ws-request-scope.js';

const scope = new WsRequestScope();
const filter = new FairLockFilter();
const interceptors = new ListOfClass(UseInterceptors(scope));
const filters = new ListOfClass(UseFilters(filter));

/** The features that the module adds to the gateways of an application. */
interface GatewayFeatures {
  /** A request in the queue whose client disconnects before its handler has ended leaves the queue. */
  readonly requestScope: boolean;
  /** `FairLockFilter` handles the errors of the locks, behind the filters of the gateway itself. */
  readonly filter: boolean;
}

/**
 * Prepares all WebSocket gateways of the application. Nest applies neither global interceptors and filters nor middleware to
 * gateways. So our interceptor and filter are put in front of the lists of each gateway class: the interceptor then runs before the
 * gateway's own interceptors, and the filter is tried after its own filters. The methods of its lifecycle get neither. Must be
 * called before Nest binds the gateways, which it does before it calls any hook.
 */
export async function prepareGateways(modules: ModulesContainer, features: GatewayFeatures): Promise<void> {
  const isGateway = (handlerClasses.gateways = await gatewayCheck());
  for (const { providers } of modules.values()) {
    for (const { metatype } of providers.values()) {
      if (typeof metatype !== 'function' || !isGateway(metatype)) continue;
      if (features.requestScope) interceptors.prepend(metatype, scope);
      if (features.filter) filters.prepend(metatype, filter);
    }
  }
}

/** Whether a class is a gateway, by what `@WebSocketGateway` sets; without its package no class is one. */
async function gatewayCheck(): Promise<(metatype: object) => boolean> {
  try {
    const { WebSocketGateway } = await import('@nestjs/websockets');
    return markedBy(WebSocketGateway());
  } catch {
    return () => false;
  }
}
