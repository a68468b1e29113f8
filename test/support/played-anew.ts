/**
 * Plays a scene, and plays it anew where it fails and the machine is why.
 *
 * @param most how often in all
 * @param isExcused whether processes stood still for too long in the play that failed
 * @param clear makes room for the next play
 */
export async function playedAnew(
  most: number,
  play: () => Promise<void>,
  isExcused: () => boolean,
  clear: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (let left = most; ; left -= 1) {
    try {
      return await play();
    } catch (error) {
      if (left === 1 || !isExcused()) throw error;
      await clear();
    }
  }
}
