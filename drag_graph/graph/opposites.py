"""Word lists behind the guards (`graph.contradictions`): what excludes what, what denies what. This project's own."""

# Groups of words that exclude one another; where a group has sides ("/"), only words of different sides do.
OPPOSITES = """
hot warm / cold cool | high low medium | large big huge / small little tiny | long short |
increase rise raise gain grow elevate / decrease fall lower lose reduce decline diminish | increased decreased |
more / less fewer | most least | maximum minimum | major minor | upper lower middle | left right |
north south east west | northern southern eastern western | inner outer | internal external | inside outside |
interior exterior | front back | anterior posterior | dorsal ventral | proximal distal | medial lateral |
superior inferior | top bottom | first second third fourth fifth last | primary secondary tertiary |
positive negative neutral | active passive | acute chronic | benign malignant | male female | man woman | boy girl |
father mother | son daughter | brother sister | husband wife | king queen | prince princess | uncle aunt |
parent / child offspring | young / old adult | early / late | new old | past present future | ancient modern |
before after | day night | morning evening | summer winter spring autumn | sunrise sunset | light bright / dark |
black / white / red / green / blue / yellow / brown / grey gray / orange / purple / pink | wet dry |
solid / liquid / gas gaseous | acid / base alkaline | acidic / basic alkaline | strong / weak |
fast quick rapid / slow | hard soft | rough smooth | thick thin | wide narrow | deep shallow | open closed |
single double triple | single multiple | binary ternary | true false | good bad | best worst | better worse |
rich poor | public private | legal illegal | predator prey | producer consumer decomposer |
herbivore carnivore omnivore | host parasite | teacher student | doctor physician / patient / nurse |
employer employee | buyer seller | lender borrower | cause effect | input output | import export | supply demand |
profit loss | debit credit | systolic diastolic | arterial venous | artery vein | sensory motor | afferent efferent |
sympathetic parasympathetic | dominant recessive | homozygous heterozygous | genotype phenotype | mitosis meiosis |
aerobic anaerobic | vertebrate invertebrate | renewable nonrenewable | conductor insulator | proton neutron electron |
cation anion | anode cathode | oxidation / reduction | oxidize reduce | endothermic exothermic | kinetic potential |
series parallel | transverse longitudinal | convex concave | ascend descend | expand contract | expansion contraction |
evaporation condensation | evaporate condense | melt freeze | melting freezing | absorb / emit release / reflect |
attract / repel | attraction repulsion | accept reject | allow permit / prevent prohibit forbid | enable disable |
create build / destroy demolish | construct destruct | activate inhibit | activation inhibition |
stimulate / inhibit suppress | promote / prevent inhibit | help harm | heat cool | strengthen / weaken | gain / lose |
begin start / end stop finish | open close | enter / leave exit | arrive depart | push pull | give / take receive |
send receive | buy sell | win lose | love hate | live die | birth death | born died | attack defend | support oppose |
agree disagree | include exclude | add / subtract remove | multiply divide | build demolish | connect disconnect |
appear disappear | succeed fail | success failure | remember forget | above below | over under | up down | in out |
into out | on off | with without | to from | towards away | always never | all / none / some | many few |
northward southward | agonist antagonist | antigen antibody | bacterium / virus / fungus | bacterial viral fungal |
urban rural | diastole systole | hyperglycemia hypoglycemia | gram kilogram milligram |
meter kilometer centimeter millimeter | sun moon earth mars venus |
monday tuesday wednesday thursday friday saturday sunday |
sensitive susceptible / resistant immune |
january february march april may june july august september october november december |
root stem leaf flower seed fruit | liver kidney heart lung brain stomach spleen bladder pancreas |
alpha beta gamma delta | animal plant | cell tissue organ | river / lake / ocean sea | continent country city |
egg larva pupa adult nymph | oxygen nitrogen hydrogen carbon helium | sodium potassium calcium magnesium chlorine |
glucose fructose sucrose lactose | protein lipid carbohydrate | dna rna | heavy light
"""
NEGATIONS = frozenset(
    """
    no not non never none neither nor without lack lacks lacking cannot absence absent n't fail fails failed refuse hardly
    rarely seldom barely scarcely unlikely nicht kein keine keinen nie niemals pas jamais nunca \u043d\u0435
    """.split()  # noqa: SIM905
)
# Words that deny one another of the same pair, side against side. Fewer than OPPOSITES, which only have to keep names and
# predicates apart: somebody may well be born and die in one city, and a country import and export oil.
CONTRARIES = """
increase raise elevate enhance boost strengthen promote stimulate activate cause induce trigger enable accelerate support
improve / decrease reduce lower decline diminish lessen weaken inhibit suppress prevent block hinder slow stop eliminate
worsen | allow permit enable / prevent prohibit forbid disable | attract / repel | accept / reject | help benefit / harm
damage | protect / damage endanger | heat warm / cool | include / exclude | agree / disagree | love like / hate dislike |
create / destroy | precede before / follow after succeed | above / below | hot warm / cold cool | safe / dangerous unsafe
harmful | good beneficial / bad harmful | true / false | legal / illegal | possible / impossible | positive / negative | more
/ less fewer | large larger big bigger great greater high higher / small smaller little low lower | old older / young younger
| fast faster / slow slower | early earlier / late later | strong stronger / weak weaker | long longer / short shorter | heavy
heavier / light lighter | good better best / bad worse worst | rich richer / poor poorer | most / least
| sensitive susceptible / resistant immune
"""
# What a contrary word may stand with on one side alone: "increases the risk of" denies "reduces".
QUALIFIERS = frozenset(
    """
    risk chance likelihood probability odds possibility danger rate level amount number incidence frequency severity degree
    size speed growth development production occurrence effect can may might could will would should must do be have help tend
    always often sometimes usually generally typically significantly greatly slightly strongly directly likely also further very
    know show prove find
    """.split()  # noqa: SIM905
)
NEGATIVE_PREFIXES = ("non", "un", "in", "im", "ir", "il", "dis", "a", "an", "anti", "de", "mis", "counter", "contra")
PAIRED_PREFIXES = tuple(
    (pair.partition("/")[0], pair.partition("/")[2])
    for pair in """
    hyper/hypo pre/post intra/extra intra/inter endo/exo endo/ecto macro/micro over/under mono/poly mono/di di/tri
    uni/multi homo/hetero auto/hetero pro/anti pro/eu max/min ex/im ex/in in/out up/down sub/super ana/cata iso/hetero
    for/back e/im sym/asym in/ef af/ef ab/ad photo/chemo angio/gymno ecto/endo proto/deutero pheno/geno tele/micro
    centri/centro epi/hypo eso/exo peri/endo gluco/fructo thermo/hydro
    """.split()  # noqa: SIM905
)
NUMBER_WORDS = dict(
    pair.split("=")
    for pair in """
    one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 hundred=100 thousand=1000
    million=1000000 billion=1000000000 half=0.5 first=1 second=2 third=3 fourth=4 fifth=5 sixth=6 once=1 twice=2
    """.split()  # noqa: SIM905
)
ROMAN = dict(zip("ii iii iv v vi vii viii ix x xi xii".split(), map(str, range(2, 13)), strict=True))  # noqa: SIM905
EMPTY = frozenset(
    """
    process type kind form sort called named various different several certain particular specific typical common general
    individual person own entire whole overall actual real known term concept phenomenon thing object
    """.split()  # noqa: SIM905
)
TITLES = frozenset(
    """
    dr mr mrs ms miss prof professor sir dame lord lady president king queen prince princess emperor pope saint st general
    colonel captain senator governor judge justice chancellor
    """.split()  # noqa: SIM905
)
DERIVATIONS = tuple("er or ist ing ian ism ship hood ful less ness ary ry y".split())  # noqa: SIM905
PRONOUNS = frozenset(
    """
    it its they them their he him his she her this that these those we us you i one ones another other others which who
    what itself themselves himself herself here there such
    """.split()  # noqa: SIM905
)

# Relations by direction: a predicate of one column never merges with one of the other.
FORWARD = (
    ("cause", "lead to", "result in", "produce", "create", "generate", "trigger", "induce", "give rise to", "bring about"),
    ("contain", "include", "comprise", "consist of", "have", "make of", "compose of", "make up of", "be make of"),
    ("precede", "before", "come before", "be before"),
    ("be parent of", "parent of", "be father of", "be mother of", "father of", "mother of"),
    ("own", "possess", "have"),
    ("eat", "prey on", "feed on", "consume", "hunt"),
    ("employ", "hire"),
    ("treat", "cure"),
    ("require", "need", "depend on"),
    ("have type", "have example", "include"),
    ("attack", "infect", "affect"),
    ("teach", "give", "sell", "lend", "send"),
    ("prevent", "inhibit", "block", "reduce", "decrease", "lower", "suppress", "destroy"),
)
BACKWARD = (
    ("cause by", "result from", "due to", "be due to", "arise from", "stem from", "come from", "originate from", "derive from"),
    (
        "part of",
        "be part of",
        "contain in",
        "include in",
        "belong to",
        "component of",
        "be component of",
        "member of",
        "find in",
        "make up",
    ),
    ("follow", "after", "come after", "be after", "succeed"),
    ("be child of", "child of", "be son of", "be daughter of", "son of", "daughter of"),
    ("belong to", "own by"),
    ("be prey of", "be eat by", "be food for"),
    ("work for", "work at"),
    ("treat with", "treat by", "cure by"),
    ("require by", "require for", "need for", "need by"),
    ("be type of", "be kind of", "be example of", "type of", "kind of", "be"),
    ("affect by", "suffer from"),
    ("learn from", "receive", "buy", "borrow"),
    ("promote", "stimulate", "activate", "enhance", "increase", "raise", "strengthen", "create", "cause", "support", "enable"),
)
