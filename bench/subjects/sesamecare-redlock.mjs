import { redlockOf } from './redlock.mjs';

export default redlockOf('sesamecare-redlock', '@sesamecare-oss/redlock', async () => {
  const { Redlock } = await import('@sesamecare-oss/redlock');
  return Redlock;
});
