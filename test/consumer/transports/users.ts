import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import {
  Controller,
  Get,
  Injectable,
  type MessageEvent,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  Query as QueryOf,
  Res,
  Sse,
} from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { type OnGatewayDisconnect, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FairLocked, FairLockService } from 'nestjs-fair-lock';
import { type Observable, of } from 'rxjs';
import { KEY } from '../common/accounts.controller.js';

@Controller()
export class UsersController {
  constructor(private readonly locks: FairLockService) {}

  @Get('by-id')
  @FairLocked('user:<0>')
  async byId(@QueryOf('id') id: string): Promise<string> {
    return id;
  }

  @Sse('feed')
  @FairLocked(KEY, { waitTime: 50, returns: 'observable' })
  feed(): Observable<MessageEvent> {
    return of({ data: 'paid' });
  }

  @Sse('feed-with-status')
  async feedWithStatus(
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<Observable<MessageEvent>> {
    const closed = new Promise((resolve) => response.once('close', resolve));
    const lock = await this.locks.acquire(KEY, { waitTime: 0 });
    void closed.then(() => lock.release());
    return of({ data: 'paid' });
  }

  @MessagePattern('pay')
  @FairLocked(KEY, { waitTime: 0 })
  async payByMessage(): Promise<string> {
    return 'paid';
  }

  @MessagePattern('by-id')
  @FairLocked('user:<0.id>')
  async byIdOfMessage(data: { id: string }): Promise<string> {
    return data.id;
  }
}

@Resolver()
export class UsersResolver {
  @Query(() => String)
  @FairLocked(KEY, { waitTime: 0 })
  async pay(): Promise<string> {
    return 'paid';
  }
}

@WebSocketGateway()
export class UsersGateway implements OnGatewayDisconnect {
  @SubscribeMessage('pay')
  @FairLocked(KEY, { waitTime: 0 })
  async pay(): Promise<unknown> {
    return { event: 'pay', data: 'paid' };
  }

  @SubscribeMessage('slow')
  @FairLocked(KEY)
  async slow(): Promise<unknown> {
    return { event: 'slow', data: 'paid' };
  }

  @FairLocked('user:<1.id>')
  @SubscribeMessage('by-id')
  async byId(_client: unknown, data: { id: string }): Promise<string> {
    return data.id;
  }

  @FairLocked('presence')
  async handleDisconnect(): Promise<void> {}
}

/** A timer of its own, whose rejection nobody catches; and a leader that uses what the root module closes. */
@Injectable()
export class Heartbeat implements OnApplicationBootstrap, OnModuleDestroy {
  private open = true;

  constructor(private readonly locks: FairLockService) {}

  onApplicationBootstrap(): void {
    if (process.env['HEARTBEAT'] !== 'true') return;
    setInterval(() => void this.beat(), 5);
    this.locks.lead('relay', async ({ signal }) => {
      await once(signal, 'abort');
      if (!this.open) console.error('The database of the leader is closed already.');
    });
  }

  onModuleDestroy(): void {
    this.open = false;
  }

  @FairLocked('heartbeat', { onTimeout: 'skip' })
  async beat(): Promise<void> {}
}
