import { UseFilters } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { handlerClasses, ListOfClass, markedBy } from '../decorator/nest-metadata.js';
import { FairLockFilter } from './fair-lock.filter.js';

const filter = new FairLockFilter();
const filters = new ListOfClass(UseFilters(filter));

/**
 * Finds the WebSocket gateways of the application, and lets `FairLockFilter` handle the errors of their locks, behind their own filters. Nest
 * applies no global filters to gateways, so ours is put in front of the list of each class. The methods of its lifecycle do not get it. Must be
 * called before Nest binds the gateways, which it does before it calls any hook.
 */
export async function prepareGateways(modules: ModulesContainer, withFilter: boolean): Promise<void> {
  const isGateway = (handlerClasses.gateways = await gatewayCheck());
  if (!withFilter) return;
  for (const { providers } of modules.values()) {
    for (const { metatype } of providers.values()) {
      if (typeof metatype === 'function' && isGateway(metatype)) filters.prepend(metatype, filter);
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
