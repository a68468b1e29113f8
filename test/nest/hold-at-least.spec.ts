import { Controller, Post, UseInterceptors } from '@nestjs/common';
import { FairLockInterceptor } from 'nestjs-fair-lock';
import { ask, PLATFORMS, webApp } from './web-app.js';

@Controller()
class CartController {
  @Post('carts')
  @UseInterceptors(FairLockInterceptor.for('carts', { waitTime: 0, holdAtLeast: 60_000 }))
  add(): string {
    return 'added';
  }
}

test.each(PLATFORMS)(
  'a route whose interceptor has holdAtLeast, on %s: the next caller is refused',
  async (platform) => {
    const web = await webApp(platform, { controllers: [CartController] });
    expect(await ask(`${web.url}/carts`, { method: 'POST' })).toMatchObject({ status: 201 });
    expect(await ask(`${web.url}/carts`, { method: 'POST' })).toMatchObject({ status: 423 });
    await web.app.close();
  },
);
