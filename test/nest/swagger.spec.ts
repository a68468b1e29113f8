import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { FairLocked } from 'nestjs-fair-lock';
import { webApp } from './web-app.js';

class Order {
  @ApiProperty() id!: string;
  @ApiProperty() count!: number;
}

/** The same routes, by default without a lock. */
function controller(Locked: () => MethodDecorator = () => () => undefined) {
  @Controller('orders')
  class OrdersController {
    @Locked()
    @Get(':id')
    @ApiOperation({ summary: 'one order' })
    @ApiOkResponse({ type: Order })
    async above(@Param('id') id: string): Promise<Order> {
      return { id, count: 1 };
    }
    @Post()
    @ApiOkResponse({ type: Order })
    @Locked()
    async below(@Body() order: Order): Promise<Order> {
      return order;
    }
  }
  return OrdersController;
}

test('Swagger describes locked routes as it describes them without a lock', async () => {
  const describeApi = async (type: ReturnType<typeof controller>) => {
    const { app } = await webApp('express', { controllers: [type] });
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    await app.close();
    return document;
  };
  const locked = await describeApi(controller(() => FairLocked('order')));
  expect(locked.paths['/orders/{id}']?.get?.summary).toBe('one order');
  expect(locked.paths['/orders']?.post?.requestBody).toBeDefined();
  expect(locked).toEqual(await describeApi(controller()));
});
