import { LockKeyError } from 'nestjs-fair-lock';
import { HTTP_REQUEST, METHOD_ARGUMENTS, parseKeyTemplates } from '../../../lib/nest/key-template.js';

const ofArguments = (template: string | string[], ...args: unknown[]) =>
  parseKeyTemplates(template, METHOD_ARGUMENTS, 'OrdersService.pay')(args);

describe('a key template', () => {
  test.each([
    ['order', [], 'order'],
    ['', [], ''],
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
    ['<0>', [''], ''],
    ['<0>', [-0], '0'],
    ['<0>', ['<1>{braces}'], '<1>{braces}'],
  ])('%j of %j is %j', (template, args, key) => {
    expect(ofArguments(template, ...args)).toBe(key);
  });

  test('a list of templates makes a list of keys', () => {
    expect(ofArguments(['account:<0>', 'account:<1>'], 'a', 'b')).toEqual(['account:a', 'account:b']);
  });

  test('one of a request begins at a name', () => {
    const render = parseKeyTemplates('<params.id>:<headers.x-tenant>', HTTP_REQUEST, 'here');
    expect(render({ params: { id: 1 }, headers: { 'x-tenant': 't' } })).toBe('1:t');
  });

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [{ secret: 'p4ss' }, 'an object'],
    [[1], 'an array'],
    [Symbol('s'), 'a symbol'],
    [() => 1, 'a function'],
    [new Date(0), 'an object'],
    [Promise.resolve('x'), 'a promise'],
  ])('never takes %p into a key', (value, named) => {
    expect(() => ofArguments('order:<0>', value)).toThrow(LockKeyError);
    expect(() => ofArguments('order:<0>', value)).toThrow(
      `The lock key "order:<0>" of OrdersService.pay found ${named} at <0>. ` +
        'A key is made of strings, finite numbers, bigints and booleans only.',
    );
  });

  test('a missing argument, or a way that ends early, is undefined', () => {
    expect(() => ofArguments('<0>')).toThrow('found undefined at <0>');
    expect(() => ofArguments('<0.customer.id>', {})).toThrow('found undefined at <0.customer.id>');
    expect(() => ofArguments('<0.customer.id>', { customer: null })).toThrow('found null at <0.customer.id>');
  });

  test.each(['<>', '<id>', '<0.>', '<.id>', '<0..id>', '<00>', '<-1>', '<1.5e3>'.replace('5', ' '), '< 0>'])(
    'the placeholder in %j names nothing, and that is said at once',
    (template) => {
      const parse = () => parseKeyTemplates(template, METHOD_ARGUMENTS, 'OrdersService.pay');
      expect(parse).toThrow(LockKeyError);
      expect(parse).toThrow('A placeholder is <index> or <index.property>, as in <0> or <0.id>.');
    },
  );

  test.each(['<0', '0>', '<<0>>', 'a > b', '<0>>', '<a<0>'])(
    'unpaired brackets in %j are refused at once',
    (template) => {
      const parse = () => parseKeyTemplates(template, METHOD_ARGUMENTS, 'OrdersService.pay');
      expect(parse).toThrow(/of OrdersService\.pay has an unpaired "<" or ">"/);
    },
  );

  test('an index in a template of a request, and what is no template, are refused', () => {
    const parse = (templates: unknown) => parseKeyTemplates(templates as string, HTTP_REQUEST, 'here');
    expect(() => parse('<0>')).toThrow('as in <params.id>');
    expect(() => parse([42])).toThrow('The lock key of here is 42; a key is a string.');
    for (const none of [null, 5, {}, []]) {
      expect(() => parse(none)).toThrow(
        'The lock key of here must be a string, or a list of at least one string.',
      );
    }
  });
});
