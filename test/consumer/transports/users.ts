import { ServerResponse } from 'node:http';
import {
  Controller,
  Get,
  Injectable,
  type MessageEvent,
  type OnApplicationBootstrap,
  Post,
  Query as QueryOf,
  Res,
  Sse,
} from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { type OnGatewayDisconnect, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { FairLocked, FairLockService } from 'nestjs-fair-lock';
import { type Observable, of } from 'rxjs';

const KEY = 'user:alice@example.com';

@Controller()
export class UsersController {
  private release: () => Promise<void> = async () => {};

  constructor(private readonly locks: FairLockService) {}

  @Post('hold')
  async hold(): Promise<void> {
    const lock = await this.locks.acquire(KEY, { label: 'Billing.charge' });
    this.release = () => lock.release();
  }

  @Post('release')
  async end(): Promise<void> {
    await this.release();
  }

  @Get('pay')
  @FairLocked(KEY, { waitTime: 0 })
  async pay(): Promise<string> {
    return 'paid';
  }

  @Get('slow')
  @FairLocked(KEY)
  async slow(): Promise<string> {
    return 'paid';
  }

  @Get('waiting')
  async waiting(): Promise<number> {
    return (await this.locks.inspect(KEY)).queueLength;
  }

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
    return lock.run(() => of({ data: 'paid' }));
  }

  @MessagePattern('pay')
  @FairLocked(KEY, { waitTime: 0 })
  async payByMessage(): Promise<string> {
    return 'paid';
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

  @FairLocked('presence')
  async handleDisconnect(): Promise<void> {}
}

/** Calls that nobody waits for, as those of an event emitter are. */
@Injectable()
export class Heartbeat implements OnApplicationBootstrap {
  onApplicationBootstrap(): void {
    if (process.env['HEARTBEAT'] === 'true') setInterval(() => void this.beat(), 5);
  }

  @FairLocked('heartbeat')
  async beat(): Promise<void> {}
}
