import { LockKeyError } from 'nestjs-fair-lock';
import {
  checkMadeKeys,
  HTTP_REQUEST,
  type KeyPlace,
  METHOD_ARGUMENTS,
  parseKeyTemplates,
} from '../../../../lib/nest/decorator/key-template.js';

const PLACE: KeyPlace = { name: 'OrdersService.pay', fromRequest: () => false };
const OF_REQUEST: KeyPlace = { name: 'CartsController.pay', fromRequest: () => true };

/** What the error of `call` tells an operator. */
function detailsOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return (error as LockKeyError).details;
  }
  return 'no error';
}

const ofArguments = (template: string | string[], ...args: unknown[]) =>
  parseKeyTemplates(template, METHOD_ARGUMENTS, PLACE)(args);

const WITHOUT_VALUE = 'Pass a value, or correct the key: all calls without one would share a lock.';
const MAKE_IT = (type: string, method: string): string =>
  `, whose text does not identify it: make the key with a function, as in (value: ${type}) => \`order:\${value.${method}()}\`.`;
class OrderId {
  toString(): string {
    return '7';
  }
}
class Plain {}
const NAME_A_PROPERTY =
  ', whose text does not identify it: name a property, as in <0.id>, or make the key with a function.';

describe('a key template', () => {
  test.each([
    ['order', [], 'order'],
    ['order:<0>', ['42'], 'order:42'],
    ['<0>', ['x'], 'x'],
    ['<0><1>', ['a', 'b'], 'ab'],
    ['a:<1>:b:<0>:c', ['x', 'y'], 'a:y:b:x:c'],
    ['<0.id>', [{ id: 7 }], '7'],
    ['<0.customer.id>', [{ customer: { id: 7n } }], '7'],
    ['<0.pair.1>', [{ pair: ['a', 'b'] }], 'b'],
    ['<0.length>', ['four'], '4'],
    ['<0>:<0>', [true], 'true:true'],
    ['<10>', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 'eleventh'], 'eleventh'],
    ['a:<0>', [''], 'a:'],
    ['<0>', [-0], '0'],
    ['<0>', ['<1>{braces}'], '<1>{braces}'],
  ])('%j of %j is %j', (template, args, key) => {
    expect(ofArguments(template, ...args)).toBe(key);
  });

  test('a list of templates makes a list of keys', () => {
    expect(ofArguments(['account:<0>', 'account:<1>'], 'a', 'b')).toEqual(['account:a', 'account:b']);
  });

  test('one of a request refuses a header in capitals, as no request has it', () => {
    expect(() => parseKeyTemplates('<headers.Idempotency-Key>', HTTP_REQUEST, PLACE)).toThrow(
      'write <headers.idempotency-key>',
    );
  });

  test('one of a request begins at a name', () => {
    const render = parseKeyTemplates('<params.id>:<headers.x-tenant>', HTTP_REQUEST, PLACE);
    expect(render({ params: { id: 1 }, headers: { 'x-tenant': 't' } })).toBe('1:t');
  });

  test.each([
    [undefined, 'undefined', `: the caller passed nothing there. ${WITHOUT_VALUE}`],
    [null, 'null', `: the caller passed null there. ${WITHOUT_VALUE}`],
    [NaN, 'NaN', ', which identifies nothing: pass a finite number.'],
    [Infinity, 'Infinity', ', which identifies nothing: pass a finite number.'],
    [{ secret: 'p4ss' }, 'an object', NAME_A_PROPERTY],
    [[1], 'an array', NAME_A_PROPERTY],
    [Symbol('s'), 'a symbol', NAME_A_PROPERTY],
    [() => 1, 'a function', NAME_A_PROPERTY],
    [new Date(0), 'an object (Date)', MAKE_IT('Date', 'toISOString')],
    [new OrderId(), 'an object (OrderId)', MAKE_IT('OrderId', 'toString')],
    [new Plain(), 'an object (Plain)', NAME_A_PROPERTY],
    [Promise.resolve('x'), 'a promise', ', whose text does not identify it: await it before the call.'],
  ])('never takes %p into a key', (value, named, advice) => {
    expect(() => ofArguments('order:<0>', value)).toThrow(LockKeyError);
    expect(detailsOf(() => ofArguments('order:<0>', value))).toBe(
      `The lock key "order:<0>" of OrdersService.pay found ${named} at <0>${advice} ` +
        'See nestjs-fair-lock/docs/errors.md#a-value-that-makes-no-key.',
    );
  });

  test.each([
    ['<0>', [], `undefined at <0>: the caller passed nothing there. ${WITHOUT_VALUE}`],
    ['<0.id>', [], 'undefined at <0.id>: <0> is undefined. '],
    ['<0.id>', [{}], 'undefined at <0.id>: <0> is an object without it. '],
    ['<0.id>', [{ id: null }], 'null at <0.id>: <0> is an object in which it is null. '],
    ['<0.customer.id>', [{}], 'undefined at <0.customer.id>: <0.customer> is undefined. '],
    ['<0.customer.id>', [{ customer: null }], 'null at <0.customer.id>: <0.customer> is null. '],
  ])('%j of %j tells where the way ends', (template, args, found) => {
    expect(detailsOf(() => ofArguments(template, ...args))).toContain(`found ${found}`);
  });

  test.each(['<>', '<id>', '<0.>', '<.id>', '<0..id>', '<00>', '<-1>', '<1. e3>', '< 0>'])(
    'the placeholder in %j names nothing, which is reported immediately',
    (template) => {
      const parse = () => parseKeyTemplates(template, METHOD_ARGUMENTS, PLACE);
      expect(parse).toThrow(LockKeyError);
      expect(parse).toThrow('A placeholder is <index> or <index.property>, as in <0> or <0.id>.');
    },
  );

  test.each(['<0', '0>', '<<0>>', 'a > b', '<0>>', '<a<0>'])(
    'unpaired brackets in %j are refused immediately',
    (template) => {
      const parse = () => parseKeyTemplates(template, METHOD_ARGUMENTS, PLACE);
      expect(parse).toThrow(/of OrdersService\.pay has an unpaired "<" or ">"/);
    },
  );

  test('an index in a template of a request, and what is no template, are refused', () => {
    const parse = (templates: unknown) => parseKeyTemplates(templates as string, HTTP_REQUEST, PLACE);
    expect(() => parse('<0>')).toThrow('as in <params.id>');
    expect(() => parse([42])).toThrow(
      "A lock key in the list of OrdersService.pay is 42: write each as a string, as in ['account:<0>', 'account:<1>'].",
    );
    for (const [none, named] of [
      [null, 'null'],
      [5, '5'],
      [{}, 'an object'],
      [[], 'an empty array'],
    ] as const) {
      expect(() => parse(none)).toThrow(
        `The first argument is the lock key of OrdersService.pay, but it is ${named}: write a string, a list of strings, or a function, ` +
          "as in FairLockInterceptor.for('cart:<params.id>', { waitTime: 5_000 }).",
      );
    }
  });

  test.each([undefined, null, ['7', '8'], { id: '7' }, NaN])(
    'of a request that holds %j is the mistake of its client',
    (id) => {
      const render = parseKeyTemplates('cart:<query.id>', HTTP_REQUEST, OF_REQUEST);
      const refused: unknown = expect.objectContaining({
        status: 400,
        message: expect.stringMatching(
          /^No usable lock key could be derived from this request: <query\.id> is /,
        ) as string,
        details: expect.stringContaining('The lock key "cart:<query.id>" of CartsController.pay') as string,
      });
      expect(() => render({ query: { id } })).toThrow(refused as Error);
    },
  );

  test('is refused where it is empty, or is so with the values of a call', () => {
    expect(detailsOf(() => ofArguments(''))).toMatch(/^The lock key "" of OrdersService\.pay is empty\./);
    expect(detailsOf(() => ofArguments('<0><1>', '', ''))).toMatch(
      /^The lock key "<0><1>" of OrdersService\.pay is empty with the values of this call\./,
    );
    const render = parseKeyTemplates('<params.id>', HTTP_REQUEST, OF_REQUEST);
    const message = 'No usable lock key could be derived from this request: it is empty.';
    const refused: unknown = expect.objectContaining({ status: 400, message });
    expect(() => render({ params: { id: '' } })).toThrow(refused as Error);
    expect(detailsOf(() => checkMadeKeys(['a', ''], OF_REQUEST))).toContain('returned an array');
    expect(detailsOf(() => checkMadeKeys('', OF_REQUEST))).toContain('an empty string');
  });

  test('of a function that makes an empty list of the values of a request is the mistake of its client', () => {
    const refused: unknown = expect.objectContaining({
      status: 400,
      message:
        'No usable lock key could be derived from this request: its key function returned an empty array.',
      details: expect.stringContaining(
        'A key function returns a non-empty string, or a non-empty list of them.',
      ) as string,
    });
    expect(() => checkMadeKeys([], OF_REQUEST)).toThrow(refused as Error);
  });

  test.each([
    ['x:#{id}', '#{id}'],
    ['x:${id}', '${id}'],
    ['x:{id}', '{id}'],
    ['x:{0}', '{0}'],
    ['x:{0.id}:<0>', '{0.id}'],
    ['x:{{id}}', '{{id}}'],
    ['x:%s', '%s'],
    ['x:$1', '$1'],
    ['carts/:id', '/:id'],
  ])('with the placeholder of another language, %j, is refused with the right syntax', (template, found) => {
    const parse = () => parseKeyTemplates(template, METHOD_ARGUMENTS, PLACE);
    expect(parse).toThrow(LockKeyError);
    expect(parse).toThrow(
      `contains ${JSON.stringify(found)}, which is plain text here, so that all calls would share one lock. ` +
        'A placeholder is <index> or <index.property>',
    );
  });

  test.each(['{order:42}', '{order:<0>}', '{tenant}:<0>', '100%', '5% discount', 'a::b', 'US$', '{}'])(
    'may be %j, which is no placeholder anywhere',
    (template) => {
      expect(() => parseKeyTemplates(template, METHOD_ARGUMENTS, PLACE)).not.toThrow();
    },
  );
});
