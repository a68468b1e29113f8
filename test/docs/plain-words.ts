/** Phrases that read as translated, with words to use instead. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bof (?:its|their|your|my|our) own\b/i, 'its own …, separate'],
  [/\b(?:that|those) of\b/i, 'repeat the noun'],
  [/\b(?:stands?|stood)\b(?!-| for| again)/i, 'is, goes'],
  [/\bg(?:ives?|iven|iving|ave)(?: (?:it|them|the lock|locks|one))? back\b/i, 'release'],
  [/\b(?:is|are|was|were) told\b/i, 'a subject that tells'],
  [/\b(?:nobody|somebody|whoever)\b/i, 'name the subject'],
  [/\bafter which\b/i, 'a sentence that starts with a verb'],
  [/\bwhat\b/i, 'the noun'],
  [/\bwhere\b/i, 'if, in which'],
];

/** Verbs and words before an indirect question: "says what to do", "decides where it goes". */
const ASKING =
  'ask|decide|depend|describe|determine|explain|find|found|know|learn|look|name|note|print|report|say|said|see|saw|seen|show|shown|' +
  'tell|told|write|wrote|matter|regardless|from|about|place|point';

/** Right uses of the last two: names in code, addresses, titles, questions, indirect questions. */
const RIGHT: readonly RegExp[] = [
  /`[^`]*`/g,
  /\]\([^)]*\)/g,
  /^\W*(?:What|Where)\b[^.:]*/g,
  /\|\s*(?:what|where)\b[^|]*(?=\|)/gi,
  /[[*]\**(?:What|Where)\b[^\]*]*/g,
  /\bwh(?:at|ere)\b[^.|:]*\?/gi,
  new RegExp(String.raw`\b(?:${ASKING})(?:s|es|ed|d|ing|n)?(?: \w+){0,2}?(?: on| of)? wh(?:at|ere)\b`, 'gi'),
];

/** What a native reader would stumble over in `text`: each phrase, with the words to use instead. */
export function translatedPhrasesOf(text: string): string[] {
  const plain = RIGHT.reduce((left, use) => left.replace(use, '·'), text);
  return PHRASES.flatMap(([phrase, better]) => {
    const [found] = phrase.exec(plain) ?? [];
    return found === undefined ? [] : [`${found} (better: ${better})`];
  });
}
