export declare class StallWatch {
  constructor(onStall: (ms: number) => void);
  look(): void;
  stop(): void;
}
