"""Verb forms: about nine hundred common verbs, inflected once, and a guess for words not listed.

A word maps to a `Forms`: which inflections it can be, and whether it is seldom anything but a
verb (`pure`). The lists are of this project's own making.
"""

from dataclasses import dataclass
from functools import cache

BASE, THIRD, PAST, PARTICIPLE, GERUND = "base", "third", "past", "participle", "gerund"

# Verbs whose base and -s forms are seldom nouns.
PURE = """absorb accept accompany accomplish accumulate achieve acquire adapt add adopt affect
allow announce appear apply appoint arise assemble assist associate assume attach attract avoid
become begin believe belong break breathe bring build burn calculate carry catch categorize choose
circulate classify clean cling collect combine come communicate compare compete compose comprise
concentrate condense conduct connect consider consist constitute construct consume contain continue
contract contribute convert convey convince cook cooperate create cross decide decompose define
deliver depend depict deposit derive describe destroy detect determine develop die differ digest
digitize direct disappear discover discuss dissolve distribute diversify divide eat educate
elect eliminate embed emerge emit employ enable encounter encourage endanger enhance enjoy ensure
enter equip erode erupt establish evaluate evaporate evolve examine excrete exist expand expect
expel explain explore expose express extend extract face facilitate fail feature feed feel
fertilize find finish float flow fly follow forget form found free freeze fulfil fulfill
generate germinate get give go govern grow happen hatch have hear heat help hibernate hunt
identify ignore illustrate imagine imply improve include incorporate indicate induce infect
inform ingest inhabit inherit inhibit initiate inject injure insert inspire install insulate
integrate interact interpret introduce invade invent invest investigate involve irritate join
keep kill know lack lay lead learn leave let lie lift listen live locate lose maintain make
manipulate marry mate measure meet melt metabolize migrate modify move multiply name need notice
obtain occur occupy offer open operate oppose orbit organize originate overcome oxidize own
participate pass penetrate perceive perform perish persist pollinate pollute possess precede
predict prefer prepare preserve prevent proceed produce prohibit promote propel protect prove
provide publish pull purify pursue push put raise react reach realize receive recognize record
recover recruit recycle reduce refer refine reflect refract regenerate regulate reject relate
release rely remain remember remind remove renew repair replace replicate represent reproduce
require resemble reside resist respond restore restrict retain reuse reveal revolve rise rotate
save say scatter secrete see seek seem select sell send separate serve set shed shine show
signify solve speak specialize specify spend stand starve stay sterilize stimulate store strengthen
struggle suck suffer suggest supply support suppress surround survive sustain swallow swim
synthesize take teach tell tend terminate thrive throw tie tolerate touch transfer transform
translate transmit transport travel treat trigger try turn undergo understand unite use utilize
vaporize vary vibrate view visit wash watch weaken wear weigh win work worry write star direct
portray portrays feature premiere compile document adhere adjoin administer admit advise agree
aid alter amend analyze answer approve argue arrange arrest arrive ask assert assign attack attain
attend attribute award base behave bend bind bite blow boil borrow bounce breed broadcast buy
call cease celebrate challenge characterize charge chase chew claim climb coat collide commence
commit compact complain complete compress conceal conclude confirm confuse conserve contact
control cool copy correct cost count cover crack crawl crush cultivate cure cut damage deal decay
decline decorate decrease dedicate defeat defend deflect delay demand demonstrate deny descend
deserve design desire deteriorate devote diffuse dig dilute disperse display disrupt distinguish
disturb dominate donate drain draw dress drift drink drive drop dry earn elevate embody emphasize
enclose end engage enlarge enrich escape estimate exceed exchange exclude execute exercise exert
exhale exhibit exit export fade fall fasten ferment fight fill filter fit fix flee flourish focus
forage force forecast foster function gain gather glow graduate grasp grind guard guide handle
hang harden harm harvest hide hit hold host identify ignite illuminate impact implement import
impose increase influence inhale insist intend interfere introduce isolate issue judge jump label
land last laugh launch leak leap lend lessen level license limit link load loosen love lower
lubricate manage manufacture mark match mature mean mention mix model mount nest neutralize note
nourish observe obstruct order outnumber overlap overlook pack paint park pay peel place plan
plant play plow point poison populate power practice praise press pretend print process progress
project promise pump purchase question quit race rain range rank rate read rebuild recall
recommend reconstruct redirect refuse register relax relieve remake repel reply report request
rescue research resign resolve rest result return reverse review revise ride rot rub ruin rule
run score scratch scream screen search season secure sense settle shake shape share shelter shift
ship shock shoot shorten shout shrink shut sign simplify sing sink sit sleep slide slip slow smell
smoke smooth soak sound spawn speed spin split spoil spread spring squeeze stabilize start state
steal stick sting stop strain stretch strike study submit substitute succeed surpass suspend sweat
sweep swell switch talk target taste taxi tear test thank thicken think threaten tilt tow trace
track trade train trap twist unify update upgrade urge vanish vaccinate wait wake walk want warm
warn waste wave wish withdraw withstand wonder wrap yield zoom coach edit narrate compose sponsor
co-found cofound cowrite co-write headquarter situate affiliate incorporate inaugurate merge
dismiss relocate debut retire inter bury crown reign succeed mentor induct nominate captain
star mimic resume hydrate dehydrate pasteurize sublimate erode insulate decompose photosynthesize blend howl navigate abandon oversee class
impair bark sniff nibble hop glide hover dive soar squeak growl crash collapse explode burst drown
freshen sharpen widen deepen straighten tighten lengthen broaden soften flatten thaw scrape carve
knit sew stir chop slice peel roast bake fry grill mash whisk sprinkle season garnish flavor
flavour colour color paint tint stain bleach polish rinse wipe brush sweep dust vacuum mop sort
rearrange align bisect intersect equal add subtract divide multiply sum total average round
commemorate honor honour memorialize enact ratify veto abolish legislate govern reside dwell
migrate emigrate immigrate colonize settle conquer invade occupy annex liberate surrender rebel
invent patent license pioneer co-star costar guest-star recount chronicle revolve center centre
depart arrive disembark board land taxi spawn rehearse improvise tour headline chart peak sell
camouflage predate prey scavenge parasitize excite infer deduce classify correspond""".split()

# Those of the above whose base and -s forms are often nouns.
ALSO_NOUNS = frozenset(
    """address aid answer approach attack attempt attribute award balance bear benefit bite block
    blow boil bond border bounce branch break breed bridge broadcast burn call care cause challenge
    change charge chase claim coat cook control cool copy cost count cover crack cross crush cure
    cut damage deal decay decline decrease defeat delay demand deposit design desire display dress
    drift drink drive drop dry dust effect end exchange exercise exhibit exit experience export
    extract face fall feature feed feel fight fill filter finish fish fit fix float flood flow fly
    focus force forecast form fossil fruit fuel function gain gas glow grasp group guard guide
    handle hang harm harvest hatch head heat help hide hit hold host house hunt impact import
    increase influence interest issue joke judge jump kick kill label lack land last laugh launch
    lead leak leap level lie lift light limit link live load look loss love lower mark match mate
    matter mean measure meet melt milk mine mix model mount move name need nest note offer open
    orbit order oxide pack paint park pass pay peel pile place plan plant play plow plug point
    poison position power practice praise press prey print process produce progress project promise
    pull pump purchase push question race rain raise range rank rate reach read record release
    repair reply report request rescue research rest result return reverse review ride ring rise
    roll root rot rub ruin rule run rush salt sand save scale score scratch scream screen search
    season secure sense set shade shake shape share shed shelter shift shine ship shock shoot show
    sign sink sit sleep slide slip slow smell smoke smooth snow soak sound space spawn speed spell
    spin split sponsor spot spread spring stand star start state stay steam step stick sting stop
    store storm strain stream stress stretch strike struggle study suit supply support surface
    survey sweat swell swim switch talk target taste taxi tear test thought tie tilt time top touch
    tow trace track trade train transfer transport trap travel treat tree trigger try turn twist
    type update upgrade use value view visit voice vote wait wake walk want wash waste watch water
    wave wear weather wind wish work worry wrap yield zoom rust color colour flavor flavour paint stain polish brush season honor honour patent license center
    centre tour chart peak total sum average round equal board bark crash burst slice grill
    headline class coach document captain crown mentor
    reign debut premiere clean free separate direct complete mature dry warm correct contact
    contract conduct compact process subject object program screw shower lay permit present
    concentrate associate estimate duplicate graduate advocate delegate pollute transform""".split()
) - {"pollute", "transform", "produce"}

IRREGULAR = """arise arose arisen|awake awoke awoken|oversee oversaw overseen|foresee foresaw foreseen|bear bore born|bear bore borne|beat beat beaten
become became become|begin began begun|bend bent bent|bind bound bound|bite bit bitten
bleed bled bled|blow blew blown|break broke broken|breed bred bred|bring brought brought
build built built|burn burnt burnt|buy bought bought|catch caught caught|choose chose chosen
cling clung clung|come came come|cost cost cost|creep crept crept|cut cut cut|deal dealt dealt
dig dug dug|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen
feed fed fed|feel felt felt|fight fought fought|find found found|flee fled fled|fly flew flown
forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|go went gone
grind ground ground|grow grew grown|hang hung hung|hear heard heard|hide hid hidden|hit hit hit
hold held held|hurt hurt hurt|keep kept kept|know knew known|lay laid laid|lead led led
leap leapt leapt|leave left left|lend lent lent|let let let|lie lay lain|light lit lit
lose lost lost|make made made|mean meant meant|meet met met|overcome overcame overcome
pay paid paid|put put put|quit quit quit|read read read|ride rode ridden|ring rang rung
rise rose risen|run ran run|say said said|see saw seen|seek sought sought|sell sold sold
send sent sent|set set set|shake shook shaken|shed shed shed|shine shone shone|shoot shot shot
show showed shown|shrink shrank shrunk|shut shut shut|sing sang sung|sink sank sunk|sit sat sat
sleep slept slept|slide slid slid|speak spoke spoken|spend spent spent|spin spun spun
split split split|spread spread spread|spring sprang sprung|stand stood stood|steal stole stolen
stick stuck stuck|sting stung stung|strike struck struck|swear swore sworn|sweep swept swept
swell swelled swollen|swim swam swum|take took taken|teach taught taught|tear tore torn
tell told told|think thought thought|throw threw thrown|undergo underwent undergone
understand understood understood|wake woke woken|wear wore worn|weave wove woven|win won won
withdraw withdrew withdrawn|withstand withstood withstood|write wrote written|rebuild rebuilt rebuilt
broadcast broadcast broadcast|cowrite cowrote cowritten|co-write co-wrote co-written"""

NOT_PAST = frozenset(
    """red bed need seed speed feed weed breed indeed hundred shed sled sacred naked wicked rugged
    wed embed blood-red reed deed greed creed sized kindred aged beloved""".split()
)
NOT_GERUND = frozenset(
    """thing king ring spring string wing sing bring swing sting cling sling fling during morning
    evening something anything nothing everything ceiling sibling darling sterling beijing
    according including following""".split()
)
VERB_ENDINGS = ("ize", "ise", "ify", "yze")


@dataclass(frozen=True, slots=True)
class Forms:
    """What a word can be as a verb: the inflections, and whether it is seldom anything else."""

    inflections: frozenset[str]
    pure: bool


def _doubles(base: str) -> bool:
    """Whether the last consonant doubles before -ed: stop, stopped (one-syllable bases only)."""
    if len(base) < 3 or base[-1] in "aeiouwxy" or base[-2] not in "aeiou":
        return False
    return base[-3] not in "aeiou" and sum(letter in "aeiou" for letter in base) == 1


def third_person(base: str) -> str:
    """The -s form of a base form: carry -> carries, push -> pushes."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def _regular(base: str) -> tuple[set[str], set[str]]:
    """The regular past and gerund forms of a base form, with spelling variants."""
    if base.endswith("ie"):
        return {base + "d"}, {base[:-2] + "ying"}
    if base.endswith("e"):
        return {base + "d"}, {base[:-1] + "ing", base + "ing"}
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return {base[:-1] + "ied"}, {base + "ing"}
    past, gerund = {base + "ed"}, {base + "ing"}
    if _doubles(base) or base.endswith(("mit", "fer", "pel", "cur", "trol", "gin", "get", "fit")):
        past.add(base + base[-1] + "ed")
        gerund.add(base + base[-1] + "ing")
    return past, gerund


@cache
def _table() -> dict[str, Forms]:
    inflections: dict[str, set[str]] = {}
    impure: set[str] = set()
    irregular = [entry.split() for entry in IRREGULAR.replace("\n", "|").split("|")]
    regular_past = {base for base, _, _ in irregular} - {"burn", "leap", "show", "light", "shine"}

    def put(word: str, inflection: str) -> None:
        inflections.setdefault(word, set()).add(inflection)

    for base in {*PURE, *ALSO_NOUNS, *(base for base, _, _ in irregular)}:
        put(base, BASE)
        put(third_person(base), THIRD)
        if base in ALSO_NOUNS:
            impure |= {base, third_person(base)}
        past, gerund = _regular(base)
        for word in gerund:
            put(word, GERUND)
        if base not in regular_past:
            for word in past:
                put(word, PAST)
                put(word, PARTICIPLE)
    for _, past_form, participle in irregular:
        put(past_form, PAST)
        put(participle, PARTICIPLE)
    # Irregular forms that are everyday nouns or adjectives.
    impure |= {"ground", "left", "cut", "set", "read", "shot", "thought", "bound", "cost", "hit",
               "lit", "saw", "felt", "spoke", "rose", "wound", "found", "lay", "shed", "split",
               "spread", "broadcast", "hurt", "fed", "bit", "dove"} - {"found", "felt", "saw"}
    return {word: Forms(frozenset(kinds), word not in impure) for word, kinds in inflections.items()}


def forms(word: str) -> Forms | None:
    """The verb reading of a lower-case word, from the list or from its ending; None if it has none.

    Args:
        word: one lower-case word.
    """
    known = _table().get(word)
    if known is not None:
        return known
    if len(word) > 4 and word.endswith("ed") and word not in NOT_PAST:
        return Forms(frozenset({PAST, PARTICIPLE}), pure=True)
    if len(word) > 5 and word.endswith("ing") and word not in NOT_GERUND:
        return Forms(frozenset({GERUND}), pure=False)
    if len(word) > 5 and word.endswith(VERB_ENDINGS):
        return Forms(frozenset({BASE}), pure=not word.endswith("ise"))
    if len(word) > 6 and word.endswith(("izes", "ifies", "yzes")):
        return Forms(frozenset({THIRD}), pure=True)
    return None
