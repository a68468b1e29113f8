import fc from 'fast-check';
import { Held } from '../../../../lib/core/port/admission.js';
import { type Share } from '../../../../lib/core/port/lock-store.js';

const shares = fc.oneof(
  fc.constant(undefined),
  fc.constant<Share>({ mode: 'read' }),
  fc.nat(7).map<Share>((n) => ({ mode: 'permits', permits: 1 + n, weight: 1 + (n % 3) })),
);

it('of permits, no more are held than each holder asked for, whoever ends', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(shares, fc.boolean(), fc.nat(9)), { maxLength: 60 }), (events) => {
      const held = new Held();
      const holders: (Share | undefined)[] = [];
      for (const [share, ends, which] of events) {
        if (ends && holders.length > 0) held.delete(holders.splice(which % holders.length, 1)[0]);
        else if (held.admits(share)) {
          held.add(share);
          holders.push(share);
        }
        const permits = holders.flatMap((each) => (each?.mode === 'permits' ? [each] : []));
        const used = permits.reduce((sum, { weight }) => sum + weight, 0);
        if (permits.length > 1) for (const each of permits) expect(used).toBeLessThanOrEqual(each.permits);
        expect(held.limit).toBe(
          permits.length > 0 ? Math.min(...permits.map((each) => each.permits)) : undefined,
        );
        expect(held.mode).toBe(holders[0]?.mode);
      }
    }),
  );
});
