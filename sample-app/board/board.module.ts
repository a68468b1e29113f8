import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { FairLockBoardModule } from 'nestjs-fair-lock/board';
import { type Request } from 'express';

const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1'];

/** Lets in browsers of this computer only. An application that is deployed asks for a signed-in administrator instead. */
@Injectable()
export class LoopbackGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { remoteAddress = '' } = context.switchToHttp().getRequest<Request>().socket;
    return LOOPBACK.includes(remoteAddress);
  }
}

/** The page at `/locks`: who holds which lock, who waits, and since when. */
export const BoardModule = FairLockBoardModule.forRoot({ path: 'locks', guards: [LoopbackGuard] });
